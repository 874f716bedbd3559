// How far the rollover from a CA cert to another one has come: what still lives of what it signed.
import { countLiveLeaves } from '../store/issued-certs.ts';
import type { Ca } from './ca.ts';
import { requireSigningCert } from './signing-certs.ts';

export type Rollover = {
  /** Leaves that this CA cert signed itself and that are neither revoked nor expired. */
  readonly liveLeaves: number;
  /** There are more than were counted. */
  readonly atLeast: boolean;
};

/** Counting more than this answers no question, and would take longer than anybody waits. */
const MOST = 100_000;

/** Of a CA cert by its uuid. Throws `not_found`. */
export async function getRollover(ca: Ca, id: string): Promise<Rollover> {
  await requireSigningCert(ca, id);
  const counted = await countLiveLeaves(ca.database.db, id, { now: ca.clock.now(), limit: MOST + 1 });
  return { liveLeaves: Math.min(counted, MOST), atLeast: counted > MOST };
}
