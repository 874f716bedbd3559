// A clock that stands still until a test moves it.
import type { Clock } from '../../src/core/ports.ts';

export type TestClock = Clock & { advance(ms: number): void };

export function testClock(start = new Date('2026-05-17T12:00:00.000Z')): TestClock {
  let time = start.getTime();
  return {
    now: () => new Date(time),
    signingTime: () => new Date(time),
    advance: (ms) => {
      time += ms;
    },
  };
}

export const DAY_MS = 86_400_000;
