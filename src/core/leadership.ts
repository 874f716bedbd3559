// Leadership among processes that share the database and nothing else: whoever holds a lock of it leads.
import { setTimeout as pause } from 'node:timers/promises';
import { stillAlone, whileAlone } from '../store/alone.ts';
import type { Db } from '../store/database.ts';
import type { Ca } from './ca.ts';

const RETRY_MS = 1_000;
/** The lock goes with its session; the server gives it to another one as soon as it notices. */
const HEARTBEAT_MS = 2_000;

export type DatabaseLeadership = {
  /**
   * Runs `work` each time the lock is taken, until the outer signal aborts. The signal that it is given aborts when the
   * lock is lost or given up; the lock is released only after `work` has ended.
   */
  lead(work: (leading: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void>;
};

/** `name` says what is led. */
export const databaseLeadership = (ca: Ca, name: string): DatabaseLeadership => ({
  async lead(work, signal) {
    const { events } = ca;
    events.leadershipStandby({ lease: name });
    while (!signal.aborted) {
      try {
        await whileAlone(ca.database.db, name, async (session) => {
          events.leadershipTaken({ lease: name, identity: 'this process' });
          try {
            await leadWhileAlive(session, work, signal);
          } finally {
            events.leadershipEnded({ lease: name, why: signal.aborted ? 'released' : 'lost' });
          }
        });
      } catch (error) {
        events.leaseFailed({ lease: name, reason: error instanceof Error ? error.message : String(error) });
      }
      await pause(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  },
});

async function leadWhileAlive(
  session: Db,
  work: (leading: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const ended = new AbortController();
  const beating = beat(session, AbortSignal.any([signal, ended.signal]));
  const lost = new AbortController();
  beating.catch((error: unknown) => lost.abort(error));
  try {
    await work(AbortSignal.any([signal, lost.signal]));
  } finally {
    ended.abort();
    await beating;
  }
}

/** Until the signal aborts; throws when the session is lost. */
async function beat(session: Db, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(HEARTBEAT_MS, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) await stillAlone(session);
  }
}
