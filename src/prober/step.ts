// One step of a probe on the network: it ends by itself, at its deadline, or when the probe is given up.

export type Step = {
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  /** What is thrown at the deadline. */
  readonly late: () => Error;
};

/** Begins something that settles once; gives what ends it before its time. */
type Begin<Result> = (resolve: (result: Result) => void, reject: (error: unknown) => void) => () => void;

/** The result of what `begin` has begun, whatever comes first; after the deadline or the signal it is ended. */
export function withinStep<Result>({ deadlineMs, signal, late }: Step, begin: Begin<Result>): Promise<Result> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const finish = (): void => {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
  };
  const end = (error: unknown): void => {
    finish();
    reject(error);
    stop();
  };
  const giveUp = (): void => end(signal.reason);
  const timer = setTimeout(() => end(late()), deadlineMs);
  signal.addEventListener('abort', giveUp);
  const stop = begin(
    (result) => {
      finish();
      resolve(result);
    },
    (error) => {
      finish();
      reject(error);
    },
  );
  return promise;
}
