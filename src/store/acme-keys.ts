// Statements on acme_keys: account keys, which are the accounts of RFC 8555.
import { type Insertable, type RawBuilder, type Selectable, sql, type Updateable } from 'kysely';
import type { AcmeKeyState } from '../lifecycles/acme-key.ts';
import { columnsOf } from './columns.ts';
import type { Db, Tx } from './database.ts';
import { gatheredRows } from './gathered.ts';
import { columnsBy, type NameOrId, type PageOfRows, type PageRequest, readPage } from './keyset.ts';
import { moveAcmeKey } from './move.ts';
import { type Fence, isChangeable, isWithin, type Owner, ownedColumns } from './origin.ts';
import type { Tables } from './tables.ts';

type Row = Selectable<Tables['acme_keys']>;
/** `slug` is that of its directory, also of a deleted one. */
export type AcmeKeyRow = Pick<Row, (typeof acmeKeyColumns)[number]> & { readonly slug: string };
export type NewAcmeKey = Pick<
  Insertable<Tables['acme_keys']>,
  'id' | 'origin' | 'created_at' | 'directory_id' | 'contacts' | 'thumbprint' | 'spki' | 'jwk'
> & {
  readonly terms_agreed: string | null;
  /** The custom resource that declares it. */
  readonly owner: (Owner & Fence) | undefined;
};
export type AcmeKeyChanges = Pick<
  Updateable<Tables['acme_keys']>,
  'name' | 'contacts' | 'order_validations' | 'thumbprint' | 'spki' | 'jwk' | 'contacts_declared' | 'origin_generation'
>;
/** What its client may change itself. */
export type OwnAcmeKeyChanges = Pick<Updateable<Tables['acme_keys']>, 'contacts' | 'thumbprint' | 'spki' | 'jwk'>;
/** What stands for an account besides its key: its own values, or an EAB token that gives them. */
export type Sponsor =
  | { readonly name: string; readonly order_validations: Row['order_validations'] }
  | { readonly external_binding_id: string; readonly eab_jws: string };

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

/**
 * Registers a key in one statement: holds the directory against deletion, spends the EAB token where one stands for it,
 * claims the key for ever, and, only from what came of that, makes the account. Undefined when the directory is not
 * there, or the token is spent, deleted or of another directory. Fails by used_keys_pkey for a key that is not new, and
 * then nothing is spent.
 */
export async function insertAcmeKey(
  tx: Tx,
  key: NewAcmeKey,
  sponsor: Sponsor,
): Promise<(AcmeKeyRow & { readonly token_owner: Owner | null }) | undefined> {
  const { id, created_at: now, owner } = key;
  const { rows } = await sql<AcmeKeyRow & { readonly token_owner: Owner | null }>`
    with directory as (
      select id, slug from directories where id = ${key.directory_id} and deleted_at is null for share),
    sponsor as (${sponsorOf(sponsor, id, now)}),
    claimed as (
      insert into used_keys (thumbprint, why, since, acme_key_id)
      select ${key.thumbprint}::bytea, 'account', ${now}::timestamptz, ${id}::uuid from sponsor
      returning thumbprint)
    insert into acme_keys (id, state, origin, origin_namespace, origin_name, origin_uid, origin_generation, created_at,
                           directory_id, external_binding_id, eab_jws, name, order_validations, contacts,
                           contacts_declared, thumbprint, spki, jwk, terms_agreed)
    select ${id}::uuid, 'valid', ${key.origin}::text, ${owner?.namespace ?? null}::text, ${owner?.name ?? null}::text,
           ${owner?.uid ?? null}::text, ${owner?.generation ?? null}::int, ${now}::timestamptz,
           directory.id, sponsor.id, sponsor.eab_jws, sponsor.name, sponsor.order_validations, ${key.contacts}::text[],
           ${owner === undefined ? null : key.contacts}::text[], claimed.thumbprint, ${key.spki}::bytea,
           ${key.jwk}::jsonb, ${key.terms_agreed}::text
      from directory, sponsor, claimed
    returning ${columnsOf('acme_keys', acmeKeyColumns)},
              (select slug from directory) as slug, (select owner from sponsor) as token_owner`.execute(tx);
  return rows[0];
}

export const findAcmeKey = gatheredRows<AcmeKeyRow>((db, ids) =>
  db.selectFrom('acme_keys').select(acmeKeyColumns).select(slugOfDirectory).where('id', '=', ids).execute(),
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
    .where('state', '=', 'valid')
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
    .where('state', '=', 'valid')
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

/** The columns that both give: id, eab_jws, name, order_validations, owner. */
function sponsorOf(sponsor: Sponsor, acmeKeyId: string, now: Date): RawBuilder<unknown> {
  if (!('external_binding_id' in sponsor)) {
    return sql`
      select null::uuid as id, null::text as eab_jws, ${sponsor.name}::text as name,
             ${sponsor.order_validations}::text as order_validations, null::jsonb as owner
        from directory`;
  }
  return sql`
    update external_bindings set acme_key_id = ${acmeKeyId}, used_at = ${now}, version = version + 1
     where id = ${sponsor.external_binding_id} and directory_id = (select id from directory)
       and acme_key_id is null and deleted_at is null
    returning id, ${sponsor.eab_jws}::text as eab_jws, name, order_validations,
              case when not ${isChangeable} then jsonb_build_object('namespace', origin_namespace, 'name', origin_name)
              end as owner`;
}
