// Questions that several ask at the same time are asked once. Nothing is kept: who comes after the answer asks anew.

type Ask<Answer> = (name: string, signal: AbortSignal) => Promise<Answer>;

type UnderWay<Answer> = {
  readonly answer: Promise<Answer>;
  readonly stop: AbortController;
  /** From now on nobody joins. */
  readonly forget: () => void;
  askers: number;
};

/** Made once: without it each question that is given up would make an error of its own, with its stack. */
const nobodyWaits = new Error('Nobody waits for the answer any longer.');

/** Who gives up leaves the question to the others; it ends with the last of them. */
export function sharedQuestions<Answer>(ask: Ask<Answer>): Ask<Answer> {
  const underWay = new Map<string, UnderWay<Answer>>();

  const begin = (name: string): UnderWay<Answer> => {
    const stop = new AbortController();
    const forget = (): void => {
      if (underWay.get(name) === question) underWay.delete(name);
    };
    // Forgotten before anybody hears of the answer: who then asks again, because it is a failure, asks anew.
    const question = { answer: ask(name, stop.signal).finally(forget), stop, forget, askers: 0 };
    underWay.set(name, question);
    return question;
  };

  return async (name, signal) => {
    signal.throwIfAborted();
    const question = underWay.get(name) ?? begin(name);
    const { promise: givenUp, reject } = Promise.withResolvers<never>();
    const giveUp = (): void => {
      reject(signal.reason);
      question.askers -= 1;
      if (question.askers > 0) return;
      question.forget();
      question.stop.abort(nobodyWaits);
    };
    question.askers += 1;
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      return await Promise.race([question.answer, givenUp]);
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  };
}
