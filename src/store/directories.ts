// Statements on directories.
import { type Insertable, type Selectable, type SqlBool, sql, type Updateable } from 'kysely';
import type { Db, Tx } from './database.ts';
import { gatheredRows } from './gathered.ts';
import { columnsBy, type NameOrId, type PageOfRows, type PageRequest, readPage } from './keyset.ts';
import {
  type DeclaredAs,
  type Fence,
  isChangeableBy,
  isDeclaredAs,
  isOwnedAs,
  type Owner,
  ownedColumns,
} from './origin.ts';
import { verbatim } from './statement.ts';
import type { Tables } from './tables.ts';

export type DirectoryRow = Selectable<Tables['directories']>;
export type DirectoryFilter = { readonly signingCertId?: string | undefined };
export type DirectoryChanges = Omit<Updateable<Tables['directories']>, 'version' | 'deleted_at'>;

/** For a statement for many: those that its part `wanted` names, held against deletion, in one order for all who do so. */
export const wantedDirectories = verbatim(`
  select d.id, d.slug
    from (select distinct directory_id as id from wanted order by directory_id) w,
         lateral (select id, slug from directories where id = w.id and (deleted_at is null) is true for share) d`);

export const directoryColumns = [
  ...ownedColumns,
  'created_at',
  'deleted_at',
  'name',
  'slug',
  'signing_cert_id',
  'rollover_days',
  'rollover_at',
  'former_signing_certs',
  'allowed_dns_identifiers',
  'allowed_ip_identifiers',
  'remote_ip_whitelist',
  'caa_tag',
  'on_missing_caa',
  'registration_mode',
  'cert_min_days',
  'cert_max_days',
  'profiles',
  'allowed_key_types',
  'terms_of_service',
  'website',
] as const satisfies readonly (keyof Tables['directories'])[];

export const insertDirectory = (tx: Tx, directory: Insertable<Tables['directories']>): Promise<DirectoryRow> =>
  tx.insertInto('directories').values(directory).returning(directoryColumns).executeTakeFirstOrThrow();

/** Undefined for a deleted one too. */
export const findDirectory = gatheredRows<DirectoryRow>((db, ids) =>
  db
    .selectFrom('directories')
    .select(directoryColumns)
    .where('id', '=', ids)
    .where(sql<SqlBool>`(deleted_at is null) is true`),
);

export function listDirectoryRows(
  db: Db,
  { signingCertId }: DirectoryFilter,
  page: PageRequest<NameOrId>,
): Promise<PageOfRows<DirectoryRow> | undefined> {
  const query = db.selectFrom('directories').select(directoryColumns).where('deleted_at', 'is', null);
  const within = signingCertId === undefined ? {} : { signing_cert_id: signingCertId };
  return readPage(db, query, { table: 'directories', within, columns: columnsBy(page.sort) }, page);
}

/** That of a custom resource, else the one that it is to take over. */
export const findDeclaredDirectory = (db: Db, declared: DeclaredAs): Promise<DirectoryRow | undefined> =>
  db
    .selectFrom('directories')
    .select(directoryColumns)
    .where(isDeclaredAs('directories', declared))
    .orderBy(sql`id = ${declared.adopt ?? null}::uuid`)
    .limit(1)
    .executeTakeFirst();

/** The deleted directory of a custom resource that still has this slug. */
export const findDirectoryTombstone = (
  db: Db,
  { namespace, name, slug }: Owner & { readonly slug: string },
): Promise<DirectoryRow | undefined> =>
  db
    .selectFrom('directories')
    .select(directoryColumns)
    .where('id', 'in', (query) =>
      query
        .selectFrom('directory_slugs')
        .select('directory_id')
        .where('directory_slugs.slug', '=', slug)
        .where('released_at', 'is', null),
    )
    .where('slug', '=', slug)
    .where('deleted_at', 'is not', null)
    .where('origin', '=', 'kubernetes')
    .where('origin_namespace', '=', namespace)
    .where('origin_name', '=', name)
    .executeTakeFirst();

/** Undefined when the tombstone is no longer as it was seen. */
export const reviveDirectory = (
  tx: Tx,
  { id, version }: Pick<DirectoryRow, 'id' | 'version'>,
  changes: DirectoryChanges,
): Promise<DirectoryRow | undefined> =>
  tx
    .updateTable('directories')
    .set({ ...changes, deleted_at: null, version: version + 1 })
    .where('id', '=', id)
    .where('version', '=', version)
    .where('deleted_at', 'is not', null)
    .returning(directoryColumns)
    .executeTakeFirst();

/** Undefined when the row is no longer as it was seen. */
export const updateDirectory = (
  tx: Tx,
  seen: Pick<DirectoryRow, 'id' | 'version' | 'origin' | 'origin_uid'>,
  changes: DirectoryChanges,
): Promise<DirectoryRow | undefined> =>
  tx
    .updateTable('directories')
    .set({ ...changes, version: seen.version + 1 })
    .where('id', '=', seen.id)
    .where(sql<SqlBool>`(version = ${seen.version} and deleted_at is null and ${isOwnedAs(seen)}) is true`)
    .returning(directoryColumns)
    .executeTakeFirst();

/** Makes it a tombstone. Undefined when it is one already, or is not to be changed by this door or object. */
export const deleteDirectory = (tx: Tx, id: string, now: Date, fence?: Fence): Promise<DirectoryRow | undefined> =>
  tx
    .updateTable('directories')
    .set({ deleted_at: now, version: sql`version + 1` })
    .where('id', '=', id)
    .where(sql<SqlBool>`(deleted_at is null and ${isChangeableBy(fence)}) is true`)
    .returning(directoryColumns)
    .executeTakeFirst();
