// What becomes of an account when its custom resource goes.
import { findDeclaredAcmeKey, leaveAcmeKey } from '../store/declared-acme-keys.ts';
import { auditedAcmeKey } from './acme-keys.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import { customResource, type Declared, isOwn } from './declared.ts';
import { changedMeanwhile } from './object-kinds.ts';
import { announceRevocation, type RevokedAccount, revokeInTransaction } from './revoke-acme-key.ts';

export type AcmeKeyRelease = {
  /** The account lives on, and belongs to nobody. */
  readonly isRetained: boolean;
};

/**
 * Settles the account of an object that is being deleted: it is revoked, unless it is retained or has ended. Nothing where
 * there is none, or one of another object. Throws `conflict` when somebody else changed it meanwhile. Locks the account,
 * its orders and authorizations.
 */
export async function releaseAcmeKey(ca: Ca, declared: Declared, { isRetained }: AcmeKeyRelease): Promise<void> {
  const seen = await findDeclaredAcmeKey(ca.database.db, declared);
  if (seen === undefined || !isOwn('acme_key', declared, seen)) return;
  const now = ca.clock.now();
  const actor = customResource(declared);
  const { id } = seen;
  const revoked = await ca.database.inTransaction(async (tx): Promise<RevokedAccount | undefined> => {
    const row = await leaveAcmeKey(tx, seen, isRetained ? 'orphaned_at' : 'deleted_at', now, declared);
    if (row === undefined) throw changedMeanwhile('acme_key');
    if (!isRetained && row.state === 'valid') return revokeInTransaction(tx, actor, id, { require: () => {} }, now);
    const action = isRetained ? 'orphan' : 'delete';
    await recordChange(tx, actor, now, { action, kind: 'acme_key', id, before: auditedAcmeKey(row) });
    return undefined;
  });
  if (revoked !== undefined) await announceRevocation(ca, revoked);
}
