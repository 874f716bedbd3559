// Statements on acme_keys: account keys, which are the accounts of RFC 8555.
import type { Selectable, SqlBool, Updateable } from 'kysely';
import type { AcmeKeyState } from '../lifecycles/acme-key.ts';
import type { Db, Tx } from './database.ts';
import { gatheredRows } from './gathered.ts';
import { columnsBy, type NameOrId, type PageOfRows, type PageRequest, readPage } from './keyset.ts';
import { moveAcmeKey } from './move.ts';
import { type Fence, isChangeable, isWithin, ownedColumns } from './origin.ts';
import { sql } from './statement.ts';
import type { Tables } from './tables.ts';

type Row = Selectable<Tables['acme_keys']>;
/** `slug` is that of its directory, also of a deleted one. */
export type AcmeKeyRow = Pick<Row, (typeof acmeKeyColumns)[number]> & { readonly slug: string };
export type AcmeKeyChanges = Pick<
  Updateable<Tables['acme_keys']>,
  'name' | 'contacts' | 'order_validations' | 'thumbprint' | 'spki' | 'jwk' | 'contacts_declared' | 'origin_generation'
>;
/** What its client may change itself. */
export type OwnAcmeKeyChanges = Pick<Updateable<Tables['acme_keys']>, 'contacts' | 'thumbprint' | 'spki' | 'jwk'>;
export type AcmeKeyFilter = { readonly directoryId: string; readonly state?: AcmeKeyState | undefined };

export const acmeKeyColumns = [
  ...ownedColumns,
  'state',
  'directory_id',
  'external_binding_id',
  'name',
  'order_validations',
  'used_on',
  'contacts',
  'thumbprint',
  'spki',
] as const satisfies readonly (keyof Row)[];

const slugOfDirectory = sql<string>`(select slug from directories where id = acme_keys.directory_id)`.as('slug');

export const findAcmeKey = gatheredRows<AcmeKeyRow>((db, ids) =>
  db.selectFrom('acme_keys').select(acmeKeyColumns).select(slugOfDirectory).where('id', '=', ids),
);

export function listAcmeKeyRows(
  db: Db,
  { directoryId, state }: AcmeKeyFilter,
  page: PageRequest<NameOrId>,
): Promise<PageOfRows<AcmeKeyRow> | undefined> {
  const query = db.selectFrom('acme_keys').select(acmeKeyColumns).select(slugOfDirectory);
  const within = { directory_id: directoryId, ...(state !== undefined && { state }) };
  return readPage(db, query, { table: 'acme_keys', within, columns: columnsBy(page.sort) }, page);
}

const isValid = sql<SqlBool>`(state = 'valid') is true`;

/** Undefined when the account is no longer as it was seen, is no longer valid, or this writer may not change it. */
export const updateAcmeKey = (
  tx: Tx,
  { id, version }: Pick<AcmeKeyRow, 'id' | 'version'>,
  changes: AcmeKeyChanges,
  fence?: Fence,
): Promise<AcmeKeyRow | undefined> =>
  tx
    .updateTable('acme_keys')
    .set({ ...changes, version: version + 1 })
    .where('id', '=', id)
    .where('version', '=', version)
    .where(isValid)
    .where(fence === undefined ? isChangeable : isWithin(fence))
    .returning(acmeKeyColumns)
    .returning(slugOfDirectory)
    .executeTakeFirst();

/** For its client, whoever made it. Undefined when the account has another key by now, or is no longer valid. */
export const changeOwnAcmeKey = (
  tx: Tx,
  { id, thumbprint }: Pick<AcmeKeyRow, 'id' | 'thumbprint'>,
  changes: OwnAcmeKeyChanges,
): Promise<AcmeKeyRow | undefined> =>
  tx
    .updateTable('acme_keys')
    .set({ ...changes, version: sql`version + 1` })
    .where('id', '=', id)
    .where('thumbprint', '=', thumbprint)
    .where(isValid)
    .returning(acmeKeyColumns)
    .returning(slugOfDirectory)
    .executeTakeFirst();

/** For who is about to end it: nothing new comes to the account before the transaction ends. */
export const lockAcmeKey = (tx: Tx, id: string): Promise<AcmeKeyRow | undefined> =>
  tx
    .selectFrom('acme_keys')
    .select(acmeKeyColumns)
    .select(slugOfDirectory)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();

/** Ends a locked account. Undefined when it has ended already. */
export async function endAcmeKey(
  tx: Tx,
  { id, version, slug }: Pick<AcmeKeyRow, 'id' | 'version' | 'slug'>,
  to: 'revoked' | 'deactivated',
): Promise<AcmeKeyRow | undefined> {
  const row = await moveAcmeKey(tx, id, to, { set: { version: version + 1 }, returning: acmeKeyColumns });
  return row && { ...row, slug };
}
