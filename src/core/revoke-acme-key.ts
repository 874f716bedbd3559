// Revoking an account key: the account ends, what it has begun ends with it, and its certificates where that is asked for.
import type { RevocationReason } from '../resources/revocation-reasons.ts';
import { type AcmeKeyView, acmeKeyView, auditedAcmeKey, requireValid } from './acme-keys.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { endAccount } from './end-account.ts';
import { formatId } from './ids.ts';
import { publishRevocations, revokeIssuedCerts } from './revoke.ts';

export type AcmeKeyRevocation = {
  /** Also revokes all its live certificates, for this reason. */
  readonly certificates?: RevocationReason;
};

const end = {
  to: 'revoked',
  detail: 'The account was revoked by an administrator.',
  require: requireValid,
} as const;

/**
 * Revokes an account key for good and withdraws its public key. Its orders that are not done, `processing` too, and its
 * authorizations end at once; its certificates stay valid unless asked otherwise. Throws `not_found`,
 * `managed_by_kubernetes` and `key_not_valid`. Locks the account, its orders, authorizations and certificates.
 */
export async function revokeAcmeKey(
  ca: Ca,
  actor: Actor,
  id: string,
  { certificates }: AcmeKeyRevocation = {},
): Promise<AcmeKeyView> {
  const now = ca.clock.now();
  const { row, endedOrders, revoked } = await ca.database.inTransaction(async (tx) => {
    const { before, row, endedOrders } = await endAccount(tx, id, end, now);
    // Last: a certificate whose order was done before ours took its lock is seen only now.
    const revoked = certificates && (await revokeIssuedCerts(tx, actor, { acme_key_id: id }, certificates, now));
    const counts = { ended_orders: endedOrders, revoked_certs: revoked?.ids.length ?? 0 };
    const fields = { before: auditedAcmeKey(before), after: { ...auditedAcmeKey(row), ...counts } };
    await recordChange(tx, actor, now, { action: 'revoke', kind: 'acme_key', id, ...fields });
    return { row, endedOrders, revoked };
  });
  ca.events.acmeKeyRevoked({ id: formatId('acmk', id), endedOrders, revokedCerts: revoked?.ids.length ?? 0 });
  if (revoked !== undefined) await publishRevocations(ca, revoked);
  return acmeKeyView(ca, row);
}
