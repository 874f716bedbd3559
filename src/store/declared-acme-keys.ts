// Statements on account keys that custom resources declare.
import { type Selectable, sql } from 'kysely';
import { type AcmeKeyRow, acmeKeyColumns } from './acme-keys.ts';
import type { Db, Tx } from './database.ts';
import { gatheredOn } from './gathered.ts';
import { type Fence, isWithin, type Owner } from './origin.ts';
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
export const findDeclaredAcmeKey = gatheredOn<Owner, DeclaredAcmeKeyRow | undefined>(async (db, owners) => {
  const [namespaces, names] = [owners.map(({ namespace }) => namespace), owners.map(({ name }) => name)];
  const { rows } = await sql<DeclaredAcmeKeyRow>`
    select account.*
      from unnest(${namespaces}::text[], ${names}::text[]) as wanted (namespace, object)
     cross join lateral (
       select ${columns} from acme_keys
        where origin = 'kubernetes' and origin_namespace = wanted.namespace and origin_name = wanted.object
          and deleted_at is null
        limit 1) as account -- one look into the index for each, however few rows the planner knows of`.execute(db);
  const found = new Map(rows.map((row) => [`${row.origin_namespace}/${row.origin_name}`, row]));
  return ({ namespace, name }) => found.get(`${namespace}/${name}`);
});

/** By its id, whoever made it. */
export async function findAcmeKeyToAdopt(db: Db, id: string): Promise<DeclaredAcmeKeyRow | undefined> {
  const { rows } = await sql<DeclaredAcmeKeyRow>`select ${columns} from acme_keys where id = ${id}`.execute(db);
  return rows[0];
}

/** Makes it that of another custom resource. Undefined when it is no longer as it was seen. */
export async function adoptAcmeKey(
  tx: Tx,
  { id, version }: Pick<DeclaredAcmeKeyRow, 'id' | 'version'>,
  owner: Owner,
  fence: Fence,
): Promise<DeclaredAcmeKeyRow | undefined> {
  const { rows } = await sql<DeclaredAcmeKeyRow>`
    update acme_keys
       set origin = 'kubernetes', origin_namespace = ${owner.namespace}, origin_name = ${owner.name},
           origin_uid = ${fence.uid}, origin_generation = ${fence.generation}, orphaned_at = null, deleted_at = null,
           version = version + 1
     where id = ${id} and version = ${version}
    returning ${columns}`.execute(tx);
  return rows[0];
}

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
     where id = ${id} and version = ${version} and deleted_at is null and ${isWithin(fence)}
    returning ${columns}`.execute(tx);
  return rows[0];
}
