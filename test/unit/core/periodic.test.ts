// Repeated tasks: each turn of its own, whatever became of the last one.
import { expect, test } from 'vitest';
import { Periodic } from '../../../src/core/periodic.ts';

const NEVER_MS = 1_000_000;

function counting(task: () => Promise<unknown>) {
  const errors: unknown[] = [];
  let turns = 0;
  const counted = () => {
    turns += 1;
    return task();
  };
  const periodic = new Periodic({ intervalMs: NEVER_MS, task: counted, onError: (error) => errors.push(error) });
  return { periodic, errors, turns: () => turns };
}

test('a turn that is asked for during another one is that one', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { periodic, turns } = counting(() => promise);
  await using _ = periodic;

  const both = Promise.all([periodic.runNow(), periodic.runNow()]);
  resolve();
  await both;

  expect(turns()).toBe(1);
});

test.each([
  ['rejects', () => Promise.reject(new Error('no'))],
  [
    'throws before it begins to wait',
    () => {
      throw new Error('no');
    },
  ],
])('a task that %s is told, and has its next turn', async (_how, task) => {
  const { periodic, errors, turns } = counting(task);
  await using _ = periodic;

  await periodic.runNow();
  await periodic.runNow();

  expect(turns()).toBe(2);
  expect(errors).toHaveLength(2);
});

test('closing waits for the turn that is under way', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { periodic } = counting(() => promise);
  let isClosed = false;
  void periodic.runNow();

  const closing = periodic[Symbol.asyncDispose]().then(() => {
    isClosed = true;
  });
  await new Promise((done) => setImmediate(done));
  expect(isClosed).toBe(false);
  resolve();
  await closing;
});
