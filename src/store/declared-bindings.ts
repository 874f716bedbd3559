// Statements on EAB tokens that custom resources declare.
import { type Selectable, sql } from 'kysely';
import type { AuditRecord } from './audit.ts';
import type { Db, Tx } from './database.ts';
import { adoptIn, findDeclaredIn, findToAdoptIn } from './declared-rows.ts';
import { wantedDirectories } from './directories.ts';
import { type ExternalBindingRow, externalBindingColumns } from './external-bindings.ts';
import { gatheredWrites } from './gathered.ts';
import { type Fence, isWithin, type Owner } from './origin.ts';
import type { Tables } from './tables.ts';

type Row = Selectable<Tables['external_bindings']>;

export type DeclaredBindingRow = ExternalBindingRow &
  Pick<Row, 'origin_uid' | 'origin_generation' | 'used_at' | 'renewed'> & {
    /** Of the account that was made with it. */
    readonly account_state: Selectable<Tables['acme_keys']>['state'] | null;
    readonly is_directory_deleted: boolean;
  };

/** `owner` is the custom resource that it is for. */
export type NewDeclaredBinding = Pick<
  Row,
  'id' | 'created_at' | 'directory_id' | 'name' | 'key_id' | 'mac_sealed' | 'order_validations' | 'renewed'
> & { readonly owner: Owner; readonly fence: Fence };

const columns = sql.join([
  ...[...externalBindingColumns, 'origin_uid', 'origin_generation', 'used_at', 'renewed'].map((column) =>
    sql.ref(`external_bindings.${column}`),
  ),
  sql`(select slug from directories where id = external_bindings.directory_id) as slug`,
  sql`(select deleted_at is not null from directories where id = external_bindings.directory_id) as is_directory_deleted`,
  sql`(select state from acme_keys where id = external_bindings.acme_key_id) as account_state`,
]);

/** The token of a custom resource, also one that it left behind; undefined where there is none. */
export const findDeclaredBinding = findDeclaredIn<DeclaredBindingRow>('external_bindings', columns);

/** By its id, whoever made it; undefined for a deleted one too. */
export const findBindingToAdopt = findToAdoptIn<DeclaredBindingRow>('external_bindings', columns);

type Insertion = { readonly binding: NewDeclaredBinding; readonly record: AuditRecord };

/**
 * Makes a token together with the record of it. Holds the directory against deletion. Undefined when the directory is not
 * there, or the custom resource has a token, or another has the key id.
 */
export const insertDeclaredBinding = gatheredWrites<Insertion, DeclaredBindingRow | undefined>(async (db, asks) => {
  const made = <Value>(read: (ask: Insertion) => Value) => asks.map(read);
  const { rows } = await sql<DeclaredBindingRow>`
    with wanted as (
      select * from unnest(
        ${made(({ binding }) => binding.id)}::uuid[], ${made(({ binding }) => binding.created_at)}::timestamptz[],
        ${made(({ binding }) => binding.owner.namespace)}::text[], ${made(({ binding }) => binding.owner.name)}::text[],
        ${made(({ binding }) => binding.fence.uid)}::text[], ${made(({ binding }) => binding.fence.generation)}::int[],
        ${made(({ binding }) => binding.directory_id)}::uuid[], ${made(({ binding }) => binding.name)}::text[],
        ${made(({ binding }) => binding.key_id)}::text[], ${made(({ binding }) => binding.mac_sealed)}::bytea[],
        ${made(({ binding }) => binding.order_validations)}::text[], ${made(({ binding }) => binding.renewed)}::text[],
        ${made(({ record }) => record.id)}::uuid[], ${made(({ record }) => record.actorKind)}::text[],
        ${made(({ record }) => record.actor)}::text[], ${made(({ record }) => record.action)}::text[],
        ${made(({ record }) => JSON.stringify(record.detail ?? {}))}::text[])
        as wanted (id, created_at, namespace, object, uid, generation, directory_id, name, key_id, mac_sealed,
                   order_validations, renewed, record_id, actor_kind, actor, action, detail)),
    directory as (${wantedDirectories}),
    made as (
      insert into external_bindings (id, origin, origin_namespace, origin_name, origin_uid, origin_generation,
                                     created_at, directory_id, name, key_id, mac_sealed, order_validations, renewed)
      select wanted.id, 'kubernetes', namespace, object, uid, generation, created_at, directory.id, name, key_id,
             mac_sealed, order_validations, renewed
        from wanted join directory on directory.id = wanted.directory_id
       order by namespace, object -- of two statements at once neither waits for the other
      on conflict do nothing
      returning ${columns}),
    recorded as (
      insert into audit (id, actor_kind, actor, action, object_kind, object_id, detail)
      select record_id, actor_kind, actor, action, 'external_binding', id, detail::jsonb
        from wanted join made using (id))
    select * from made`.execute(db);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ({ binding }) => byId.get(binding.id);
});

/**
 * In the place of a token another with a new MAC key, under the same key id or none. Undefined when the old one is no
 * longer as it was seen, or not of this state of the custom resource, or the directory is not there.
 */
export async function replaceDeclaredBinding(
  tx: Tx,
  { id, version }: Pick<DeclaredBindingRow, 'id' | 'version'>,
  { owner, fence, ...binding }: NewDeclaredBinding,
): Promise<DeclaredBindingRow | undefined> {
  const { rows } = await sql<DeclaredBindingRow>`
    with directory as (
      select id from directories where id = ${binding.directory_id} and (deleted_at is null) is true for share),
    retired as (
      update external_bindings set deleted_at = ${binding.created_at}, version = version + 1
       where id = ${id} and (version = ${version} and deleted_at is null and ${isWithin(fence)}) is true
         and exists (select from directory)
      returning id)
    insert into external_bindings (id, origin, origin_namespace, origin_name, origin_uid, origin_generation,
                                   created_at, directory_id, name, key_id, mac_sealed, order_validations, renewed)
    select ${binding.id}::uuid, 'kubernetes', ${owner.namespace}::text, ${owner.name}::text, ${fence.uid}::text,
           ${fence.generation}::int, ${binding.created_at}::timestamptz, directory.id, ${binding.name}::text,
           ${binding.key_id}::text, ${binding.mac_sealed}::bytea, ${binding.order_validations}::text,
           ${binding.renewed}::text
      from retired, directory
    returning ${columns}`.execute(tx);
  return rows[0];
}

/** Makes it that of another custom resource. Undefined when it is no longer as it was seen. */
export const adoptBinding = adoptIn<DeclaredBindingRow>('external_bindings', columns);

/** Who has a key id; undefined where nobody has. */
export const findKeyIdHolder = (
  db: Db,
  keyId: string,
): Promise<
  Pick<Row, 'id' | 'directory_id' | 'origin' | 'origin_namespace' | 'origin_name' | 'orphaned_at'> | undefined
> =>
  db
    .selectFrom('external_bindings')
    .select(['id', 'directory_id', 'origin', 'origin_namespace', 'origin_name', 'orphaned_at'])
    .where('key_id', '=', keyId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();

/** The custom resources that have a token, whether they are there or not. */
export async function listBindingOwners(db: Db): Promise<readonly BindingOwner[]> {
  const { rows } = await sql<BindingOwner>`
    select origin_namespace as namespace, origin_name as name, origin_uid as uid from external_bindings
     where origin = 'kubernetes' and deleted_at is null and orphaned_at is null`.execute(db);
  return rows;
}

type BindingOwner = Owner & Pick<Fence, 'uid'>;
