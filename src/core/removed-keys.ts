// The keys of deleted CA certs go from the key store, when nothing has to be signed with them any more.
import { type Claim, claimDue, postponeDue } from '../store/due.ts';
import { findRemovedKey, forgetKey, removedKeys } from '../store/removed-keys.ts';
import type { Ca } from './ca.ts';
import { publishFinalCrl } from './crls.ts';
import { formatId } from './ids.ts';

export type { Claim };

/** Takes keys that are due under a lease of this length. */
export const claimRemovedKeys = (ca: Ca, limit: number, leaseMs: number): Promise<readonly Claim[]> => {
  const now = ca.clock.now();
  return claimDue(ca.database.db, removedKeys, { now, leaseUntil: new Date(now.getTime() + leaseMs), limit });
};

/** Signs the last CRL first. Throws `unavailable` when the key store cannot be reached now. Whoever lost his lease changes nothing. */
export async function removeKey(ca: Ca, claim: Claim): Promise<void> {
  const ref = await findRemovedKey(ca.database.db, claim.id);
  if (ref === undefined) return;
  await publishFinalCrl(ca, claim.id);
  await ca.keys.remove(ref);
  if (await forgetKey(ca.database.db, claim)) ca.events.signingCertKeyRemoved({ id: formatId('scrt', claim.id) });
}

/** Gives a key back, due at another time. Whoever lost his lease changes nothing. */
export const postponeKeyRemoval = (ca: Ca, claim: Claim, dueAt: Date): Promise<void> =>
  postponeDue(ca.database.db, removedKeys, claim, dueAt);
