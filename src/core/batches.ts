// Work on very many rows, a few at a time, so that nobody waits for it.
import { setTimeout as pause } from 'node:timers/promises';

/** What one batch did; `next` is where the following one goes on, undefined when nothing is left. */
export type Batch<Cursor> = { readonly changed: number; readonly next: Cursor | undefined };

/** Rows that one statement looks at. */
export const BATCH = 1_000;
/** Longer than a batch takes: the disk and the replicas have more to do than this. */
const PAUSE_MS = 50;

/** Runs batches until one is the last or the signal comes; gives the sum of what they changed. */
export async function inBatches<Cursor>(
  signal: AbortSignal,
  begin: Cursor,
  batch: (from: Cursor) => Promise<Batch<Cursor>>,
): Promise<number> {
  let changed = 0;
  let from: Cursor | undefined = begin;
  while (from !== undefined && !signal.aborted) {
    const done: Batch<Cursor> = await batch(from);
    changed += done.changed;
    from = done.next;
    if (from !== undefined) await pause(PAUSE_MS);
  }
  return changed;
}

/** For statements that find by themselves what is left to do. */
export const untilFew = (signal: AbortSignal, batch: () => Promise<number>): Promise<number> =>
  inBatches(signal, true, async () => {
    const changed = await batch();
    return { changed, next: changed < BATCH ? undefined : true };
  });
