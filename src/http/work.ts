// How much is worked on at once, and for how long.
import { RefusedRequest, refusal } from './refusals.ts';

export type WorkGate = <T>(work: () => T | Promise<T>) => Promise<T>;

/** At most `limit` at once. What comes beyond it is refused on the spot: a queue would only make everybody late. */
export function workGate(limit: number, counted: (inWork: number) => void): WorkGate {
  let inWork = 0;
  const step = (by: number) => {
    inWork += by;
    counted(inWork);
  };
  return async (work) => {
    if (inWork >= limit) throw new RefusedRequest(refusal('overloaded'));
    step(1);
    try {
      return await work();
    } finally {
      step(-1);
    }
  };
}

/** Gives up waiting after the deadline, having called `abort`; the work itself ends when it heeds its signal. */
export function withDeadline<T>(work: Promise<T>, deadlineMs: number, abort: (reason: Error) => void): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const reason = new RefusedRequest(refusal('deadline_passed'));
    abort(reason);
    reject(reason);
  }, deadlineMs);
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
