// Orders stuck in `processing`, because the server that reserved them died or could not sign: a worker completes them.
import { type Claim, claimDue, postponeDue } from '../store/due.ts';
import { stuckOrders } from '../store/reserved-orders.ts';
import type { Ca } from './ca.ts';
import { issueStuckOrder } from './issue.ts';

/** Takes orders that are due under a lease of this length. */
export const claimStuckOrders = (ca: Ca, limit: number, leaseMs: number): Promise<readonly Claim[]> => {
  const now = ca.clock.now();
  return claimDue(ca.database.db, stuckOrders, { now, leaseUntil: new Date(now.getTime() + leaseMs), limit });
};

/** Throws where it has to be tried again. Of several at once, and the server itself, the first completes the order. */
export const finishStuckOrder = (ca: Ca, { id }: Claim): Promise<void> => issueStuckOrder(ca, id);

/** Gives an order back, due at another time. Whoever lost his lease changes nothing. */
export const postponeStuckOrder = (ca: Ca, claim: Claim, dueAt: Date): Promise<void> =>
  postponeDue(ca.database.db, stuckOrders, claim, dueAt);
