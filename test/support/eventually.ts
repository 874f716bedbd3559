// Waits for a condition of the world, which must come true before a deadline.
import { setTimeout as pause } from 'node:timers/promises';

export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  deadlineMs = 10_000,
): Promise<void> {
  for (let waitedMs = 0; !(await holds()); waitedMs += 10) {
    if (waitedMs > deadlineMs) throw new Error(`Waited ${deadlineMs} ms in vain until ${what}.`);
    await pause(10);
  }
}
