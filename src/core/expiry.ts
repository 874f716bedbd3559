// What time has ended: orders, authorizations and challenges past their end. Whoever reads them knows already; this tidies.
import { type AuthorizationEnd, endDeadChallenges, expireAuthorizations, expireOrders } from '../store/expiry.ts';
import { readServiceState, replaceServiceState } from '../store/service-state.ts';
import type { StoredProblem } from '../store/tables.ts';
import { BATCH, inBatches, untilFew } from './batches.ts';
import type { Ca } from './ca.ts';
import { orderExpired } from './order-state.ts';

const authorizationEnded: StoredProblem = {
  type: 'unauthorized',
  detail: 'The authorization ended before the challenge was validated.',
};

/** Moves what has passed its end, by small statements that wait for nobody. One replica at a time. */
export async function expireOpenWork(ca: Ca, signal: AbortSignal): Promise<void> {
  const { db } = ca.database;
  const bounds = { now: ca.clock.now(), limit: BATCH };
  const orders = await untilFew(signal, () => expireOrders(db, orderExpired, bounds));
  ca.events.swept({ what: 'order_expired', count: orders });
  ca.events.swept({ what: 'authorization_expired', count: await authorizations(ca, signal, bounds) });
  const challenges = await untilFew(signal, () => endDeadChallenges(db, authorizationEnded, bounds));
  ca.events.swept({ what: 'challenge_ended', count: challenges });
}

/** How far the sweep of authorizations has come: their index knows no state, so that validating one costs no index. */
const PROGRESS = 'authorizations_expired_until';
const NOBODY = '00000000-0000-0000-0000-000000000000';
const FIRST: AuthorizationEnd = { expiresAt: new Date(0), id: NOBODY };

async function authorizations(
  ca: Ca,
  signal: AbortSignal,
  bounds: { readonly now: Date; readonly limit: number },
): Promise<number> {
  const { db } = ca.database;
  const seen = await readServiceState(db, PROGRESS);
  let until = readProgress(seen);
  const changed = await inBatches(signal, until, async (from) => {
    const batch = await expireAuthorizations(db, from, bounds);
    // Without a place to go on, all that had ended until now was looked at.
    until = batch.next ?? { expiresAt: bounds.now, id: NOBODY };
    return batch;
  });
  await replaceServiceState(db, PROGRESS, seen, { expires_at: until.expiresAt.toISOString(), id: until.id });
  return changed;
}

function readProgress(value: unknown): AuthorizationEnd {
  if (typeof value !== 'object' || value === null || !('expires_at' in value) || !('id' in value)) return FIRST;
  const { expires_at: expiresAt, id } = value;
  return typeof expiresAt === 'string' && typeof id === 'string' ? { expiresAt: new Date(expiresAt), id } : FIRST;
}
