// The work queue: no key twice at once, none forgotten, live changes first, and later each time that it fails.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { WorkQueue } from '../../../src/operator/work-queue.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function aQueue(random = 0.5) {
  const stopping = new AbortController();
  const told: string[] = [];
  const queue = new WorkQueue({
    now: () => new Date(),
    random: () => random,
    events: {
      queued: (depth) => told.push(`queued ${depth}`),
      taken: (depth, waitedMs) => told.push(`taken ${depth} after ${waitedMs}`),
      retried: () => told.push('retried'),
    },
  });
  const take = async () => (await queue.take(stopping.signal))?.key;
  return { queue, take, told, stop: () => stopping.abort() };
}

/** Whether there is something to take now. */
async function isEmpty(queue: WorkQueue): Promise<boolean> {
  const looking = new AbortController();
  const taken = queue.take(looking.signal);
  await vi.advanceTimersByTimeAsync(0);
  looking.abort();
  return (await taken) === undefined;
}

test('a key that is put in twice is taken once', async () => {
  const { queue, take } = aQueue();
  queue.add('shop/a');
  queue.add('shop/a');
  expect(await take()).toBe('shop/a');
  expect(await isEmpty(queue)).toBe(true);
});

test('what comes for a key while it is worked on makes exactly one more turn, and not before it is finished', async () => {
  const { queue, take } = aQueue();
  queue.add('shop/a');
  await take();
  queue.add('shop/a');
  queue.add('shop/a', 'low');
  expect(await isEmpty(queue)).toBe(true);
  queue.finish('shop/a');
  expect(await take()).toBe('shop/a');
  queue.finish('shop/a');
  expect(await isEmpty(queue)).toBe(true);
});

test('a namespace with many keys delays those of others by one at a time', async () => {
  const { queue, take } = aQueue();
  for (const key of ['shop/a', 'shop/b', 'shop/c', 'shop/d', 'bank/a', 'bank/b', 'mail/a']) queue.add(key);
  const taken = [];
  for (let index = 0; index < 7; index++) taken.push(await take());
  expect(taken).toEqual(['shop/a', 'bank/a', 'mail/a', 'shop/b', 'bank/b', 'shop/c', 'shop/d']);
  expect(await isEmpty(queue)).toBe(true);
});

test('live changes go before what is looked at because we have just begun, and raise what waits there', async () => {
  const { queue, take } = aQueue();
  for (const key of ['a', 'b', 'c']) queue.add(key, 'low');
  queue.add('z');
  queue.add('c');
  expect([await take(), await take(), await take(), await take()]).toEqual(['z', 'c', 'a', 'b']);
});

test('what we look at because we have just begun comes last, and is told as such until more is asked of it', async () => {
  const { queue } = aQueue();
  const taken = async () => queue.take(AbortSignal.timeout(1_000));
  queue.add('a', 'glance');
  queue.add('b', 'glance');
  queue.add('b', 'low');
  queue.add('b', 'glance');
  expect([await taken(), await taken()]).toEqual([
    { key: 'b', priority: 'low' },
    { key: 'a', priority: 'glance' },
  ]);
});

test('who waits is woken by what comes, one for one', async () => {
  const { queue, take } = aQueue();
  const waiting = [take(), take()];
  queue.add('a');
  queue.add('b');
  expect(await Promise.all(waiting)).toEqual(['a', 'b']);
});

test('one who left is not woken in the place of another', async () => {
  const { queue, take } = aQueue();
  expect(await isEmpty(queue)).toBe(true);
  const waiting = take();
  queue.add('a');
  expect(await waiting).toBe('a');
});

test('of several times the earliest counts, and now is earlier than all', async () => {
  const { queue, take } = aQueue();
  queue.addAfter('a', 5_000);
  queue.addAfter('a', 1_000);
  queue.addAfter('a', 9_000);
  await vi.advanceTimersByTimeAsync(999);
  expect(await isEmpty(queue)).toBe(true);
  await vi.advanceTimersByTimeAsync(1);
  expect(await take()).toBe('a');
  queue.finish('a');
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await isEmpty(queue)).toBe(true);

  queue.addAfter('b', 1_000);
  queue.add('b');
  expect(await take()).toBe('b');
  queue.finish('b');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await isEmpty(queue)).toBe(true);
});

test('a key that fails comes later each time, up to five minutes, and at once again when it was forgiven', async () => {
  const { queue } = aQueue();
  const delayOf = async (): Promise<number> => {
    queue.retry('a');
    const before = Date.now();
    const taken = queue.take(AbortSignal.timeout(1_000_000));
    await vi.advanceTimersToNextTimerAsync();
    expect((await taken)?.key).toBe('a');
    queue.finish('a');
    return Date.now() - before;
  };
  const delays: number[] = [];
  for (let turn = 0; turn < 13; turn++) delays.push(await delayOf());
  expect(delays.slice(0, 4)).toEqual([250, 500, 1_000, 2_000]);
  expect(delays.at(-1)).toBe(300_000);
  queue.forgive('a');
  expect(await delayOf()).toBe(250);
});

test.each([
  [0, 200],
  [1, 300],
])('a delay is a fifth shorter or longer by chance (%d)', async (random, delayMs) => {
  const { queue } = aQueue(random);
  queue.retry('a');
  await vi.advanceTimersByTimeAsync(delayMs - 1);
  expect(await isEmpty(queue)).toBe(true);
  await vi.advanceTimersByTimeAsync(1);
  expect(await isEmpty(queue)).toBe(false);
});

test('an end of work leaves nothing behind that could come later', async () => {
  const { queue, take, stop } = aQueue();
  const waiting = take();
  queue.add('a');
  await waiting;
  queue.add('a');
  queue.add('b');
  queue.addAfter('c', 10);
  stop();
  expect(await take()).toBeUndefined();
  queue.clear();
  queue.finish('a');
  await vi.advanceTimersByTimeAsync(100);
  expect(await isEmpty(queue)).toBe(true);
});

test('its metrics are told: how many wait, and for how long they did', async () => {
  const { queue, take, told } = aQueue();
  queue.add('a');
  queue.add('b');
  await vi.advanceTimersByTimeAsync(40);
  await take();
  queue.retry('a');
  expect(told).toEqual(['queued 1', 'queued 2', 'taken 1 after 40', 'retried']);
});
