// Revoking an intermediate: it stands in the CRL of its parent from then on, and signs nothing more.
import { type RevocationReason, revocationReasons } from '../resources/revocation-reasons.ts';
import { formatSeconds } from '../schema/timestamp.ts';
import type { Tx } from '../store/database.ts';
import { notifyOwners, ownersBelow } from '../store/origin.ts';
import { insertRevocations } from '../store/revocations.ts';
import {
  findSigningCert,
  lockSigningCert,
  markSigningCertRevoked,
  type SigningCertRow,
} from '../store/signing-certs.ts';
import { parseCertificate } from '../x509/certificate.ts';
import { crlEntry, crlReasons } from '../x509/crl.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { CaError } from './errors.ts';
import { formatId } from './ids.ts';
import { found } from './object-kinds.ts';
import { requireChangeable } from './origin.ts';
import { publishCrls } from './revoke.ts';
import { getSigningCert, type SingleSigningCertView } from './signing-certs.ts';

/** What a revocation is written from: an active intermediate, and the online CA cert that signed it. */
type Revocable = SigningCertRow & { readonly parent_id: string; readonly der: Buffer; readonly not_after: Date };

/**
 * Revokes an intermediate for good. Locks it, so that orders that it is signing for are either done before or never:
 * what is reserved ends as invalid. What it signed stays as it is, and its own CRL and OCSP answers go on. Throws
 * `not_found`, `managed_by_kubernetes`, `already_revoked`, `expired`, and `not_revocable` for one that has no parent here
 * that could say so.
 */
export async function revokeSigningCert(
  ca: Ca,
  actor: Actor,
  id: string,
  reason: RevocationReason,
): Promise<SingleSigningCertView> {
  const now = ca.clock.now();
  const row = await ca.database.inTransaction(async (tx) => {
    const locked = found('signing_cert', id, await lockSigningCert(tx, id));
    requireChangeable('signing_cert', locked);
    const revocable = await requireRevocable(tx, locked, now);
    await revoke(tx, actor, revocable, reason, now);
    return revocable;
  });
  ca.events.signingCertRevoked({ id: formatId('scrt', id), name: row.name, reason });
  await publishCrls(ca, [row.parent_id]);
  return getSigningCert(ca, id);
}

async function revoke(tx: Tx, actor: Actor, row: Revocable, reason: RevocationReason, now: Date): Promise<void> {
  const { id, parent_id, der, not_after } = row;
  const { number } = revocationReasons[reason];
  if ((await markSigningCertRevoked(tx, row, { reason: number, now })) === undefined)
    throw new Error('a CA cert that was locked while it was active is active no more');
  const { serial } = parseCertificate(der);
  const entry = crlEntry(serial, now, crlReasons[number]);
  const times = { revoked_at: now, changed_at: now, not_after };
  await insertRevocations(tx, [{ signing_cert_id: parent_id, serial, entry, ...times }]);
  await recordChange(tx, actor, now, {
    action: 'revoke',
    kind: 'signing_cert',
    id,
    before: { state: 'active', revoke_reason: null },
    after: { state: 'revoked', revoke_reason: reason },
  });
  for (const { kind, ...owner } of await ownersBelow(tx, id)) await notifyOwners(tx, kind, [owner]);
}

async function requireRevocable(tx: Tx, row: SigningCertRow, now: Date): Promise<Revocable> {
  const { name, parent_id, der, not_after } = row;
  if (row.state === 'revoked')
    throw new CaError('already_revoked', `CA cert ${name} is revoked already; a revocation is never changed.`);
  if (row.cert_type === 'root')
    throw notRevocable(name, 'is a root, which no CA can revoke; take it out of trust stores');
  if (der === null || not_after === null)
    throw notRevocable(name, 'has no certificate yet, so there is nothing to revoke; delete it instead');
  if (parent_id === null)
    throw notRevocable(name, 'was signed by a CA that is not here; have it revoked where the key of that CA is');
  const parent = await findSigningCert(tx, parent_id, now);
  if (parent?.key_availability !== 'online') {
    const why = `was signed by CA cert ${parent?.name ?? parent_id}, whose key is offline`;
    throw notRevocable(name, `${why}; revoke it where that key is, and upload the CRL`);
  }
  if (not_after <= now)
    throw new CaError(
      'expired',
      `CA cert ${name} expired at ${formatSeconds(not_after)}; there is nothing left to revoke.`,
    );
  return { ...row, parent_id, der, not_after };
}

const notRevocable = (name: string, why: string): CaError => new CaError('not_revocable', `CA cert ${name} ${why}.`);
