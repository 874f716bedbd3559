// What becomes of an EAB token when its custom resource goes.
import { lockAcmeKey } from '../store/acme-keys.ts';
import type { Tx } from '../store/database.ts';
import { type DeclaredBindingRow, findDeclaredBinding, listBindingOwners } from '../store/declared-bindings.ts';
import { deleteExternalBinding as deleteRow } from '../store/external-bindings.ts';
import type { Fence, Owner } from '../store/origin.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { customResource, type Declared, isOwn } from './declared.ts';
import { auditedExternalBinding } from './external-bindings.ts';
import { changedMeanwhile } from './object-kinds.ts';
import { ownerOf } from './origin.ts';
import { announceRevocation, type RevokedAccount, revokeInTransaction } from './revoke-acme-key.ts';
import { writeExternalBinding } from './update-external-binding.ts';

export type BindingRelease = {
  /** The token can still be used, and belongs to nobody. */
  readonly isRetained: boolean;
  /** The account that was made with it ends, too. */
  readonly revokesAccount: boolean;
};

/**
 * Settles the token of an object that is being deleted: nothing where there is none, or one of another object. Throws
 * `conflict` when somebody else changed it meanwhile. Locks the token, then its account.
 */
export async function releaseExternalBinding(
  ca: Ca,
  declared: Declared,
  { isRetained, revokesAccount }: BindingRelease,
): Promise<void> {
  const row = await findDeclaredBinding(ca.database.db, declared);
  if (row === undefined || !isOwn('external_binding', declared, row)) return;
  if (!isRetained) return remove(ca, row, declared, revokesAccount);
  await writeExternalBinding(ca, customResource(declared), row, { orphaned_at: ca.clock.now() }, declared);
}

/** An object by its name, and which of those that had the name. */
type OwnerUid = Owner & Pick<Fence, 'uid'>;

/**
 * Deletes the token of an object that is gone, used or not; an account that was made with it lives on. Nothing where the
 * token is that of another object of the name: who learns late that the first is gone may find the next one there.
 */
export async function forgetExternalBinding(ca: Ca, owner: OwnerUid): Promise<void> {
  const row = await findDeclaredBinding(ca.database.db, owner);
  if (row === undefined || row.orphaned_at !== null || row.origin_uid !== owner.uid) return;
  const { origin_generation: generation } = row;
  if (generation !== null) await remove(ca, row, { ...owner, generation }, false);
}

/** The custom resources that tokens belong to, whether they are there or not. */
export const externalBindingOwners = (ca: Ca): Promise<readonly OwnerUid[]> => listBindingOwners(ca.database.db);

async function remove(ca: Ca, { id }: DeclaredBindingRow, by: Owner & Fence, revokesAccount: boolean): Promise<void> {
  const now = ca.clock.now();
  const actor = customResource(by);
  const revoked = await ca.database.inTransaction(async (tx): Promise<RevokedAccount | undefined> => {
    const row = await deleteRow(tx, id, now, by);
    if (row === undefined) throw changedMeanwhile('external_binding');
    const before = auditedExternalBinding(row);
    await recordChange(tx, actor, now, { action: 'delete', kind: 'external_binding', id, before });
    return revokesAccount && row.acme_key_id !== null ? revokeAccount(tx, actor, row.acme_key_id, now) : undefined;
  });
  if (revoked !== undefined) await announceRevocation(ca, revoked);
}

/** Unless it has ended already, or an AcmeKey has taken it over. */
async function revokeAccount(tx: Tx, actor: Actor, id: string, now: Date): Promise<RevokedAccount | undefined> {
  const account = await lockAcmeKey(tx, id);
  if (account === undefined || account.state !== 'valid' || ownerOf(account) !== undefined) return undefined;
  return revokeInTransaction(tx, actor, id, { require: () => {} }, now);
}
