import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { gathered, gatheredCalls } from '../../../src/store/gathered.ts';

/** A load whose calls the test answers one by one, with the key itself in capitals; `unknown` is found by nobody. */
function aLoad() {
  const calls: { readonly keys: readonly string[]; answer(): void; fail(): void }[] = [];
  const load = (keys: readonly string[]) => {
    const { promise, resolve, reject } = Promise.withResolvers<ReadonlyMap<string, string>>();
    const found = keys.filter((key) => key !== 'unknown').map((key) => [key, key.toUpperCase()] as const);
    calls.push({ keys, answer: () => resolve(new Map(found)), fail: () => reject(new Error('away')) });
    return promise;
  };
  return { calls, load };
}

test('who asks in one turn goes together; two calls are under way at once, and all that come meanwhile are the next', async () => {
  const { calls, load } = aLoad();
  const ask = gathered(load);

  const first = ['a', 'b', 'a'].map(ask);
  await turn();
  const second = ['c'].map(ask);
  await turn();
  const third = ['d', 'c'].map(ask);
  await turn();
  const alsoThird = ['unknown'].map(ask);
  await turn();
  expect(calls.map(({ keys }) => keys)).toEqual([['a', 'b'], ['c']]);
  calls[0]?.answer();
  await expect.poll(() => calls.length).toBe(3);
  expect(calls[2]?.keys).toEqual(['d', 'c', 'unknown']);
  calls[1]?.answer();
  calls[2]?.answer();

  const answers = await Promise.all([...first, ...second, ...third, ...alsoThird]);
  expect(answers).toEqual(['A', 'B', 'A', 'C', 'D', 'C', undefined]);
});

test('where one call may be under way, all who come meanwhile are the next', async () => {
  const calls: { readonly asks: readonly string[]; answer(): void }[] = [];
  const ask = gatheredCalls<string, string>((asks) => {
    const { promise, resolve } = Promise.withResolvers<(asked: string) => string>();
    calls.push({ asks, answer: () => resolve((asked) => asked.toUpperCase()) });
    return promise;
  }, 1);

  const first = ask('a');
  await turn();
  const later = [ask('b'), turn().then(() => ask('c'))];
  await turn();
  await turn();
  expect(calls.map(({ asks }) => asks)).toEqual([['a']]);
  calls[0]?.answer();
  await expect.poll(() => calls.length).toBe(2);
  calls[1]?.answer();

  expect(await Promise.all([first, ...later])).toEqual(['A', 'B', 'C']);
  expect(calls[1]?.asks).toEqual(['b', 'c']);
});

test('a hundred go together at most, and the others are the next', async () => {
  const { calls, load } = aLoad();
  const ask = gathered(load);
  const names = Array.from({ length: 250 }, (_, number) => `n${number}`);

  const answers = names.map(ask);
  await turn();
  expect(calls.map(({ keys }) => keys.length)).toEqual([100, 100]);
  calls[1]?.answer();
  await expect.poll(() => calls.length).toBe(3);
  for (const call of calls) call.answer();

  expect(await Promise.all(answers)).toEqual(names.map((name) => name.toUpperCase()));
  expect(calls[2]?.keys).toHaveLength(50);
});

test('who asks after a call has begun is answered by a later one', async () => {
  const { calls, load } = aLoad();
  const ask = gathered(load);

  const early = ask('a');
  await turn();
  const late = ask('a');
  await turn();
  for (const call of calls) call.answer();

  expect(calls).toHaveLength(2);
  expect(await Promise.all([early, late])).toEqual(['A', 'A']);
});

test('a failure is that of those who went together, and the next go on', async () => {
  const { calls, load } = aLoad();
  const ask = gathered(load);

  const failed = ask('a');
  await turn();
  calls[0]?.fail();
  await expect(failed).rejects.toThrow('away');
  const good = ask('b');
  await turn();
  calls[1]?.answer();

  expect(await good).toBe('B');
});

test('calls are told apart, though they ask for the same', async () => {
  const spent = new Set<string>();
  const claim = gatheredCalls(async (_: readonly string[]) => (nonce: string) => spent.size < spent.add(nonce).size);

  expect(await Promise.all(['a', 'b', 'b', 'a'].map(claim))).toEqual([true, true, false, false]);
});
