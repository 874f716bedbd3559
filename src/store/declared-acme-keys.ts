// Statements on account keys that custom resources declare.
import { type Selectable, sql } from 'kysely';
import { type AcmeKeyRow, acmeKeyColumns } from './acme-keys.ts';
import type { Tx } from './database.ts';
import { adoptIn, findDeclaredIn, findToAdoptIn } from './declared-rows.ts';
import { type Fence, isWithin } from './origin.ts';
import type { Tables } from './tables.ts';

type Row = Selectable<Tables['acme_keys']>;

export type DeclaredAcmeKeyRow = AcmeKeyRow & Pick<Row, 'origin_uid' | 'origin_generation' | 'contacts_declared'>;

const columns = sql.join([
  ...[...acmeKeyColumns, 'origin_uid', 'origin_generation', 'contacts_declared'].map((column) =>
    sql.ref(`acme_keys.${column}`),
  ),
  sql`(select slug from directories where id = acme_keys.directory_id) as slug`,
]);

/** The account of a custom resource, also one that it left behind; undefined where there is none. */
export const findDeclaredAcmeKey = findDeclaredIn<DeclaredAcmeKeyRow>('acme_keys', columns);

/** By its id, whoever made it, also one that was deleted: its account may live. */
export const findAcmeKeyToAdopt = findToAdoptIn<DeclaredAcmeKeyRow>('acme_keys', columns);

/** Makes it that of another custom resource. Undefined when it is no longer as it was seen. */
export const adoptAcmeKey = adoptIn<DeclaredAcmeKeyRow>('acme_keys', columns);

/**
 * Its custom resource goes: `orphaned_at` leaves the account to whoever takes it over, `deleted_at` frees the name for
 * another one. Undefined when it is no longer as it was seen, or not of this state of the custom resource.
 */
export async function leaveAcmeKey(
  tx: Tx,
  { id, version }: Pick<DeclaredAcmeKeyRow, 'id' | 'version'>,
  as: 'orphaned_at' | 'deleted_at',
  now: Date,
  fence: Fence,
): Promise<DeclaredAcmeKeyRow | undefined> {
  const { rows } = await sql<DeclaredAcmeKeyRow>`
    update acme_keys set ${sql.ref(as)} = ${now}, version = version + 1
     where id = ${id} and (version = ${version} and deleted_at is null and ${isWithin(fence)}) is true
    returning ${columns}`.execute(tx);
  return rows[0];
}
