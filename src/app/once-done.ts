// A check of readiness that passes for good once its work has succeeded.
import type { Check } from '../http/checks.ts';

/** Begins the work at the first question, and again after it has failed; who asks meanwhile waits with it. */
export function onceDone(work: (signal: AbortSignal) => Promise<void> | undefined): Check {
  const never = new AbortController().signal;
  let isDone = false;
  let running: Promise<void> | undefined;
  return async () => {
    if (isDone) return;
    running ??= begun().finally(() => {
      running = undefined;
    });
    await running;
  };

  async function begun(): Promise<void> {
    const begin = work(never);
    if (begin === undefined) throw new Error('not begun yet');
    await begin;
    isDone = true;
  }
}
