// Revoking an account key: the account ends, what it has begun ends with it, and its certificates where that is asked for.
import type { RevocationReason } from '../resources/revocation-reasons.ts';
import type { AcmeKeyRow } from '../store/acme-keys.ts';
import type { Tx } from '../store/database.ts';
import { type AcmeKeyView, acmeKeyView, auditedAcmeKey, requireValid } from './acme-keys.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { type EndedAccount, endAccount } from './end-account.ts';
import { formatId } from './ids.ts';
import { publishRevocations, type Revoked, revokeIssuedCerts } from './revoke.ts';

export type AcmeKeyRevocation = {
  /** Also revokes all its live certificates, for this reason. */
  readonly certificates?: RevocationReason;
};

type RevocationInTransaction = {
  readonly certificates?: RevocationReason | undefined;
  readonly require: (seen: AcmeKeyRow) => void;
};

export type RevokedAccount = EndedAccount & { readonly revoked: Revoked | undefined };

const end = { to: 'revoked', detail: 'The account was revoked by an administrator.' } as const;

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
  const ended = await ca.database.inTransaction((tx) =>
    revokeInTransaction(tx, actor, id, { certificates, require: requireValid }, now),
  );
  await announceRevocation(ca, ended);
  return acmeKeyView(ca, ended.row);
}

/** The same in a transaction, for who calls announceRevocation after its commit; `require` as endAccount has it. */
export async function revokeInTransaction(
  tx: Tx,
  actor: Actor,
  id: string,
  { certificates, require }: RevocationInTransaction,
  now: Date,
): Promise<RevokedAccount> {
  const ended = await endAccount(tx, id, { ...end, require }, now);
  const { before, row, endedOrders } = ended;
  // Last: a certificate whose order was done before ours took its lock is seen only now.
  const revoked = certificates && (await revokeIssuedCerts(tx, actor, { acme_key_id: id }, certificates, now));
  const counts = { ended_orders: endedOrders, revoked_certs: revoked?.ids.length ?? 0 };
  const fields = { before: auditedAcmeKey(before), after: { ...auditedAcmeKey(row), ...counts } };
  await recordChange(tx, actor, now, { action: 'revoke', kind: 'acme_key', id, ...fields });
  return { ...ended, revoked };
}

/** Tells of it, and has the CRLs built anew. Never throws. */
export async function announceRevocation(ca: Ca, { row, endedOrders, revoked }: RevokedAccount): Promise<void> {
  const revokedCerts = revoked?.ids.length ?? 0;
  ca.events.acmeKeyRevoked({ id: formatId('acmk', row.id), endedOrders, revokedCerts });
  if (revoked !== undefined) await publishRevocations(ca, revoked);
}
