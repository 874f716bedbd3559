// Settlement: what the result of a challenge makes of the challenge, its authorization and the orders that lean on it.
import { type ChallengeClaim, lockOrdersOf, settleInvalid, settleValid } from '../store/challenge-results.ts';
import type { Db } from '../store/database.ts';
import type { StoredProblem } from '../store/tables.ts';
import type { Ca } from './ca.ts';

export type { ChallengeClaim };

/** Of an authorization, pending or valid. */
const AUTHORIZATION_LIFE_MS = 86_400_000;

/** What is told of a challenge that was not needed any more. */
const decidedByAnother: StoredProblem = {
  type: 'unauthorized',
  detail: 'Another challenge of the authorization has decided it.',
};

/**
 * The challenge was met: its authorization is valid, and orders that waited for nothing else are ready. Since when; undefined,
 * and nothing is changed, for a worker that lost its lease, or when the authorization is pending no more. Locks the orders,
 * the authorization and the challenge.
 */
export async function challengeMet(
  ca: Ca,
  claim: ChallengeClaim,
  caaCheckedAt: Date | null,
): Promise<Date | undefined> {
  const now = ca.clock.now();
  const latestEnd = new Date(now.getTime() + AUTHORIZATION_LIFE_MS);
  const success = { now, latestEnd, caaCheckedAt, others: decidedByAnother };
  return (await settling(ca, claim, (db) => settleValid(db, claim, success))) ? now : undefined;
}

/**
 * The challenge was not met: it is invalid, and so are its authorization and the orders that lean on it, if they are open
 * (AUT-4, ORD-25). False, and nothing is changed, for a worker that lost its lease. Locks as challengeMet does.
 */
export const challengeNotMet = (ca: Ca, claim: ChallengeClaim, error: StoredProblem): Promise<boolean> => {
  const now = ca.clock.now();
  const { type, detail } = error;
  const value = claim.wildcard ? `*.${claim.value}` : claim.value;
  const identifier = { type: claim.identifier_type, value };
  const orderError = { type, detail, subproblems: [{ type, detail, identifier }] };
  return settling(ca, claim, (db) => settleInvalid(db, claim, { now, error, others: decidedByAnother, orderError }));
};

/** One statement where the order leans on nothing else; else its lock comes before. */
const settling = (ca: Ca, claim: ChallengeClaim, settle: (db: Db) => Promise<boolean>): Promise<boolean> =>
  claim.is_alone
    ? settle(ca.database.db)
    : ca.database.inTransaction(async (tx) => {
        await lockOrdersOf(tx, claim);
        return await settle(tx);
      });
