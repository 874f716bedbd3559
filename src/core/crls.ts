// Certificate revocation lists as work: one per CA cert whose key is here, built anew after revocations and by schedule,
// by any replica once.
import { claimDueCrls, findCrlState, listCrlAges, markStaleCrls, postponeDueCrl } from '../store/crls.ts';
import type { Claim } from '../store/due.ts';
import { buildCrl } from './build-crl.ts';
import type { Ca } from './ca.ts';
import { CaError } from './errors.ts';
import { formatId } from './ids.ts';

const ATTEMPTS = 3;
/** Revocations are committed this much later than the time that they bear, at most. */
const LATE_COMMIT_MS = 60_000;

/** Takes CRLs that are due under a lease of this length. */
export const claimCrls = (ca: Ca, limit: number, leaseMs: number): Promise<readonly Claim[]> => {
  const now = ca.clock.now();
  return claimDueCrls(ca.database.db, { now, leaseUntil: new Date(now.getTime() + leaseMs), limit });
};

/** Gives a CRL back, due at another time. Whoever lost his lease changes nothing. */
export const postponeCrl = (ca: Ca, claim: Claim, dueAt: Date): Promise<void> =>
  postponeDueCrl(ca.database.db, claim, dueAt);

/** Replaces the CRL of a claim. Throws where it has to be tried again; until then the last one stays in place. */
export async function refreshCrl(ca: Ca, claim: Claim): Promise<void> {
  const state = await findCrlState(ca.database.db, claim.id);
  // Without a key the last CRL is the last for ever.
  if (state === undefined || state.key_ref === null) return postponeDueCrl(ca.database.db, claim, null);
  try {
    await buildCrl(ca, claim.id, state, claim);
  } catch (error) {
    ca.events.crlFailed({ signingCert: formatId('scrt', claim.id), error });
    throw error;
  }
}

/**
 * The last CRL of a deleted CA cert, before its key goes; none where there is no certificate, or no key any more. Throws
 * `unavailable` when the key cannot be used now, or others keep replacing the CRL.
 */
export async function publishFinalCrl(ca: Ca, id: string): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const state = await findCrlState(ca.database.db, id);
    if (state === undefined || state.key_ref === null) return;
    if ((await ca.keys.read(state.key_ref)) === undefined) return;
    if (await buildCrl(ca, id, state)) return;
  }
  throw new CaError('unavailable', `Others keep replacing the CRL of CA cert ${formatId('scrt', id)}.`);
}

/**
 * Marks CRLs that lack a revocation, as a crash between its commit and its mark leaves them, and CAs without a CRL; then
 * tells how old every CRL is.
 */
export async function sweepCrls(ca: Ca): Promise<void> {
  const { db } = ca.database;
  await markStaleCrls(db, ca.clock.now(), LATE_COMMIT_MS);
  const ages = await listCrlAges(db);
  ca.events.crlsLookedAt(
    ages.map(({ signing_cert_id, this_update, next_update }) => ({
      signingCert: formatId('scrt', signing_cert_id),
      thisUpdate: this_update,
      nextUpdate: next_update,
    })),
  );
}
