import { getEventListeners } from 'node:events';
import { afterEach, expect, test, vi } from 'vitest';
import { OwnSignal } from '../../../src/core/own-signal.ts';

afterEach(() => {
  vi.useRealTimers();
});

test('is over with that of the others, for their reason', () => {
  const others = new AbortController();
  using own = new OwnSignal(others.signal);
  expect(own.signal.aborted).toBe(false);
  const reason = new Error('the worker ends');
  others.abort(reason);
  expect(own.signal.reason).toBe(reason);
});

test('is over from the beginning where theirs is', () => {
  const reason = new Error('the worker has ended');
  using own = new OwnSignal(AbortSignal.abort(reason));
  expect(own.signal.reason).toBe(reason);
});

test('ends alone', () => {
  const others = new AbortController();
  using own = new OwnSignal(others.signal);
  const reason = new Error('nobody waits');
  own.end(reason);
  expect(own.signal.reason).toBe(reason);
  expect(others.signal.aborted).toBe(false);
});

test('ends after its time, for a reason that is made then', () => {
  vi.useFakeTimers();
  using own = new OwnSignal(new AbortController().signal);
  const late = vi.fn(() => new Error('too late'));
  own.endAfter(1_000, late);
  vi.advanceTimersByTime(999);
  expect([own.signal.aborted, late.mock.calls.length]).toEqual([false, 0]);
  vi.advanceTimersByTime(1);
  expect(own.signal.reason).toEqual(new Error('too late'));
});

test('leaves nothing behind', () => {
  vi.useFakeTimers();
  const others = new AbortController();
  {
    using own = new OwnSignal(others.signal);
    own.endAfter(1_000, () => new Error('too late'));
    expect(getEventListeners(others.signal, 'abort')).toHaveLength(1);
  }
  expect(getEventListeners(others.signal, 'abort')).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
