// Statements on directories.
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { Db, Tx } from './database.ts';
import { gatheredRows } from './gathered.ts';
import { columnsBy, type NameOrId, type PageOfRows, type PageRequest, readPage } from './keyset.ts';
import { isChangeable, ownedColumns } from './origin.ts';
import type { Tables } from './tables.ts';

export type DirectoryRow = Omit<Selectable<Tables['directories']>, 'origin_uid' | 'origin_generation'>;
export type DirectoryFilter = { readonly signingCertId?: string | undefined };
export type DirectoryChanges = Omit<Updateable<Tables['directories']>, 'version' | 'deleted_at'>;

export const directoryColumns = [
  ...ownedColumns,
  'created_at',
  'deleted_at',
  'name',
  'slug',
  'signing_cert_id',
  'rollover_days',
  'rollover_at',
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
  db.selectFrom('directories').select(directoryColumns).where('id', '=', ids).where('deleted_at', 'is', null).execute(),
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

/** Undefined when the row is no longer as it was seen, or is not to be changed here. */
export const updateDirectory = (
  tx: Tx,
  { id, version }: Pick<DirectoryRow, 'id' | 'version'>,
  changes: DirectoryChanges,
): Promise<DirectoryRow | undefined> =>
  tx
    .updateTable('directories')
    .set({ ...changes, version: version + 1 })
    .where('id', '=', id)
    .where('version', '=', version)
    .where('deleted_at', 'is', null)
    .where(isChangeable)
    .returning(directoryColumns)
    .executeTakeFirst();

/** Makes it a tombstone. Undefined when it is one already, or is not to be changed here. */
export const deleteDirectory = (tx: Tx, id: string, now: Date): Promise<DirectoryRow | undefined> =>
  tx
    .updateTable('directories')
    .set({ deleted_at: now, version: sql`version + 1` })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .where(isChangeable)
    .returning(directoryColumns)
    .executeTakeFirst();
