// How much is worked on at once, and for how long.
import { RefusedRequest, refusal } from './refusals.ts';

/** What is aborted when the deadline passes: the work on it ends when it heeds the signal, and counts until then. */
type Abortable = { abort(reason: Error): void };

export type WorkGate = <On extends Abortable, T>(
  work: (on: On) => T | Promise<T>,
  on: On,
  deadlineMs: number,
) => T | Promise<T>;

/**
 * At most `limit` at once. What comes beyond it is refused on the spot: a queue would only make everybody late. Work that
 * is done as soon as it is begun needs neither a count nor a deadline.
 */
export function workGate(limit: number, counted: (inWork: number) => void): WorkGate {
  let inWork = 0;
  const step = (by: number) => {
    inWork += by;
    counted(inWork);
  };
  return (work, on, deadlineMs) => {
    if (inWork >= limit) throw new RefusedRequest(refusal('overloaded'));
    const begun = work(on);
    if (!(begun instanceof Promise)) return begun;
    step(1);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const reason = new RefusedRequest(refusal('deadline_passed'));
        on.abort(reason);
        reject(reason);
      }, deadlineMs);
      const over = () => {
        clearTimeout(timer);
        step(-1);
      };
      begun.then(
        (result) => {
          over();
          resolve(result);
        },
        (error: unknown) => {
          over();
          reject(error);
        },
      );
    });
  };
}
