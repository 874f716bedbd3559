// Keys of deleted CA certs that are still in the key store.
import type { Db } from './database.ts';
import type { Claim, DueRows } from './due.ts';
import { sql } from './statement.ts';

export const removedKeys: DueRows = {
  table: 'signing_certs',
  dueAt: 'key_due_at',
  leaseUntil: 'key_lease_until',
  attempts: 'key_attempts',
  where: sql`deleted_at is not null and key_ref is not null`,
};

/** The key is no longer in the key store. False when the lease was lost. */
export async function forgetKey(db: Db, { id, attempt }: Claim): Promise<boolean> {
  const forgotten = await db
    .updateTable('signing_certs')
    .set({ key_ref: null, key_due_at: null, key_lease_until: null })
    .where('id', '=', id)
    .where('key_attempts', '=', attempt)
    .where('deleted_at', 'is not', null)
    .returning('id')
    .executeTakeFirst();
  return forgotten !== undefined;
}

/** What the key of a deleted CA cert is called; undefined when it is forgotten already. */
export async function findRemovedKey(db: Db, id: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('signing_certs')
    .select('key_ref')
    .where('id', '=', id)
    .where('deleted_at', 'is not', null)
    .executeTakeFirst();
  return row?.key_ref ?? undefined;
}
