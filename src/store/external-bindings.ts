// Statements on external_bindings: EAB tokens.
import type { Insertable, Selectable, SqlBool, Updateable } from 'kysely';
import { type AuditRecord, auditOf } from './audit.ts';
import { columnsOf } from './columns.ts';
import type { Db, Tx } from './database.ts';
import { answersIn, gatheredOn, gatheredRows } from './gathered.ts';
import { columnsBy, type NameOrId, type PageOfRows, type PageRequest, readPage } from './keyset.ts';
import { type Fence, isChangeable, isWithin, notifyOwners, ownedColumns } from './origin.ts';
import { sql } from './statement.ts';
import type { Tables } from './tables.ts';

type Row = Selectable<Tables['external_bindings']>;
/** `slug` is that of its directory. */
export type ExternalBindingRow = Pick<Row, (typeof externalBindingColumns)[number]> & { readonly slug: string };
export type NewExternalBinding = Pick<
  Insertable<Tables['external_bindings']>,
  'id' | 'created_at' | 'directory_id' | 'name' | 'key_id' | 'mac_sealed' | 'order_validations'
>;
export type ExternalBindingChanges = Pick<
  Updateable<Tables['external_bindings']>,
  'name' | 'order_validations' | 'origin_generation' | 'orphaned_at'
>;

export type ExternalBindingFilter = {
  readonly directoryId?: string | undefined;
  /** Null: those that are unused. */
  readonly acmeKeyId?: string | null | undefined;
};

export const externalBindingColumns = [
  ...ownedColumns,
  'directory_id',
  'name',
  'key_id',
  'mac_sealed',
  'order_validations',
  'acme_key_id',
] as const satisfies readonly (keyof Row)[];

const mayBeChanged = (fence: Fence | undefined) =>
  fence === undefined
    ? sql<SqlBool>`(${isUnused} and ${isChangeable}) is true`
    : sql<SqlBool>`(deleted_at is null and ${isWithin(fence)}) is true`;

const isKept = sql<SqlBool>`(deleted_at is null) is true`;

const slugOfDirectory = sql<string>`(select slug from directories where id = external_bindings.directory_id)`.as(
  'slug',
);
const isUnused = sql<SqlBool>`(acme_key_id is null and deleted_at is null)`;

/**
 * Holds the directory against deletion, and writes the record of it. Undefined, with no record, when the directory is not
 * there. Fails by external_bindings_key_id_key.
 */
export async function insertExternalBinding(
  db: Db,
  binding: NewExternalBinding,
  record: AuditRecord,
): Promise<ExternalBindingRow | undefined> {
  const { rows } = await sql<ExternalBindingRow>`
    with directory as (
      select id, slug from directories where id = ${binding.directory_id} and (deleted_at is null) is true for share),
    inserted as (
      insert into external_bindings (id, origin, created_at, directory_id, name, key_id, mac_sealed, order_validations)
      select ${binding.id}::uuid, 'api', ${binding.created_at}::timestamptz, directory.id, ${binding.name ?? null}::text,
             ${binding.key_id ?? null}::text, ${binding.mac_sealed}::bytea, ${binding.order_validations}::text
        from directory
      returning ${columnsOf('external_bindings', externalBindingColumns)}),
    recorded as (${auditOf(sql`inserted`, record)})
    select ${columnsOf('inserted', externalBindingColumns)}, directory.slug
      from inserted, directory`.execute(db);
  return rows[0];
}

/** Undefined for a deleted one too. */
export const findExternalBinding = gatheredRows<ExternalBindingRow>((db, ids) =>
  db
    .selectFrom('external_bindings')
    .select(externalBindingColumns)
    .select(slugOfDirectory)
    .where('id', '=', ids)
    .where(isKept),
);

/** The token that an ACME client names by its kid, used ones too. Undefined for one of another directory, or a deleted one. */
export const findBindingByKid = (
  db: Db,
  directoryId: string,
  kid: { readonly id: string } | { readonly keyId: string },
): Promise<TokenOfKid | undefined> => findByKid(db, { directoryId, kid });

type TokenOfKid = Pick<Row, 'id' | 'mac_sealed' | 'acme_key_id' | 'name' | 'order_validations'>;
type KidAsk = { readonly directoryId: string; readonly kid: Parameters<typeof findBindingByKid>[2] };

const tokenOfKid = sql`id, directory_id, deleted_at, mac_sealed, acme_key_id, name, order_validations`;

const findByKid = gatheredOn<KidAsk, TokenOfKid | undefined>(async (db, asks) => {
  const { rows } = await sql<TokenOfKid & { readonly asked: number }>`
    select asked.position::integer as asked, b.id, b.mac_sealed, b.acme_key_id, b.name, b.order_validations
      from unnest(${asks.map(({ directoryId }) => directoryId)}::uuid[],
                  ${asks.map(({ kid }) => ('id' in kid ? kid.id : null))}::uuid[],
                  ${asks.map(({ kid }) => ('id' in kid ? null : kid.keyId))}::text[])
             with ordinality as asked (directory_id, id, key_id, position),
           lateral (
             (select ${tokenOfKid} from external_bindings where id = asked.id limit 1)
              union all
             (select ${tokenOfKid} from external_bindings
               where key_id = asked.key_id and deleted_at is null limit 1)) b
     where b.directory_id = asked.directory_id and b.deleted_at is null`.execute(db);
  return answersIn(asks, rows);
});

export function listExternalBindingRows(
  db: Db,
  { directoryId, acmeKeyId }: ExternalBindingFilter,
  page: PageRequest<NameOrId>,
): Promise<PageOfRows<ExternalBindingRow> | undefined> {
  const columns = columnsBy(page.sort);
  const all = db
    .selectFrom('external_bindings')
    .select(externalBindingColumns)
    .select(slugOfDirectory)
    .where('deleted_at', 'is', null);
  // An account has one token at most: found by its id, the rest of the filter says whether it is shown.
  if (typeof acmeKeyId === 'string') {
    const own = all.where('acme_key_id', '=', acmeKeyId);
    // Hidden from the planner, whom it would lead through all tokens of the directory.
    const isThere = (id: string) => sql<SqlBool>`coalesce(directory_id = ${id}, false)`;
    const shown = directoryId === undefined ? own : own.where(isThere(directoryId));
    return readPage(db, shown, { table: 'external_bindings', columns }, page);
  }
  const query = acmeKeyId === null ? all.where('acme_key_id', 'is', null) : all;
  const within = directoryId === undefined ? {} : { directory_id: directoryId };
  return readPage(db, query, { table: 'external_bindings', within, columns }, page);
}

/** Undefined when the row is no longer as it was seen, or this writer may not change it; /v1 changes unused ones alone. */
export const updateExternalBinding = (
  tx: Tx,
  { id, version }: Pick<ExternalBindingRow, 'id' | 'version'>,
  changes: ExternalBindingChanges,
  fence?: Fence,
): Promise<ExternalBindingRow | undefined> =>
  tx
    .updateTable('external_bindings')
    .set({ ...changes, version: version + 1 })
    .where('id', '=', id)
    .where('version', '=', version)
    .where(mayBeChanged(fence))
    .returning(externalBindingColumns)
    .returning(slugOfDirectory)
    .executeTakeFirst();

/** Makes it a tombstone. Undefined when it is one already, or this writer may not change it; /v1 deletes unused ones alone. */
export const deleteExternalBinding = (
  tx: Tx,
  id: string,
  now: Date,
  fence?: Fence,
): Promise<ExternalBindingRow | undefined> =>
  tx
    .updateTable('external_bindings')
    .set({ deleted_at: now, version: sql`version + 1` })
    .where('id', '=', id)
    .where(mayBeChanged(fence))
    .returning(externalBindingColumns)
    .returning(slugOfDirectory)
    .executeTakeFirst();

/** Of a directory that is being deleted, whoever made them. Who makes a token holds its directory, so none comes later. */
export const deleteUnusedExternalBindings = (tx: Tx, directoryId: string, now: Date): Promise<ExternalBindingRow[]> =>
  tx
    .updateTable('external_bindings')
    .set({ deleted_at: now, version: sql`version + 1` })
    .where('directory_id', '=', directoryId)
    .where(isUnused)
    .returning(externalBindingColumns)
    .returning(slugOfDirectory)
    .execute();

/** Has the custom resource visited that a token belongs to, if any, once the transaction commits: its account has ended. */
export async function notifyTokenOwner(tx: Tx, id: string): Promise<void> {
  const owner = await tx
    .selectFrom('external_bindings')
    .select(['origin_namespace as namespace', 'origin_name as name'])
    .where('id', '=', id)
    .where(isKept)
    .where(sql<SqlBool>`not ${isChangeable}`)
    .executeTakeFirst();
  if (owner === undefined) return;
  await notifyOwners(tx, 'external_binding', [{ namespace: owner.namespace ?? '', name: owner.name ?? '' }]);
}
