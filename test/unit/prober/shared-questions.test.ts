import { expect, test } from 'vitest';
import { sharedQuestions } from '../../../src/prober/shared-questions.ts';

const never = new AbortController().signal;

/** What is asked waits for `answer`, and rejects with its signal's reason. */
const aNetwork = () => {
  const asked: { signal: AbortSignal; answer: (text: string) => void }[] = [];
  const ask = sharedQuestions<string>((_name, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    signal.addEventListener('abort', () => reject(signal.reason));
    asked.push({ signal, answer: resolve });
    return promise;
  });
  return { asked, ask };
};

/** As many turns of the promise queue, and no time. */
const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await undefined;
};

test('a question ends with the last who waits for it, and no sooner', async () => {
  const { asked, ask } = aNetwork();
  const stops = [new AbortController(), new AbortController()];
  const waiting = Promise.allSettled(stops.map(({ signal }) => ask('corp.example', signal)));
  const ended: (boolean | undefined)[] = [];
  for (const stop of stops) {
    stop.abort(new Error('given up'));
    ended.push(asked[0]?.signal.aborted);
  }
  expect(ended).toEqual([false, true]);
  expect((await waiting).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(asked).toHaveLength(1);
});

test('the end of a question that was given up is not that of the next one', async () => {
  const { asked, ask } = aNetwork();
  const stop = new AbortController();
  const givenUp = ask('corp.example', stop.signal);
  stop.abort(new Error('given up'));
  const next = ask('corp.example', never);
  await expect(givenUp).rejects.toThrow('given up');
  await turns(8);
  const joined = ask('corp.example', never);
  asked[1]?.answer('none');
  expect(await Promise.all([next, joined])).toEqual(['none', 'none']);
  expect(asked).toHaveLength(2);
});

test('who gives up after the answer, however soon, disturbs nobody who asks then', async () => {
  // Between an answer and its arrival at who asked lie a few turns.
  for (const count of [0, 1, 2, 3, 4, 5]) {
    const { asked, ask } = aNetwork();
    const stop = new AbortController();
    const first = ask('corp.example', stop.signal).catch(() => undefined);
    asked[0]?.answer('old');
    await turns(count);
    const second = ask('corp.example', never);
    stop.abort(new Error('given up'));
    const third = ask('corp.example', never);
    for (const { answer } of asked.slice(1)) answer('new');
    await first;
    expect(await second).toBe(await third);
    expect(asked.length).toBeLessThanOrEqual(2);
  }
});

test('who has given up before does not ask', async () => {
  const { asked, ask } = aNetwork();
  await expect(ask('corp.example', AbortSignal.abort(new Error('given up')))).rejects.toThrow('given up');
  expect(asked).toEqual([]);
});
