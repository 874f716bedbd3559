// What a request of an ACME client stands on, in one round trip: the directory that a slug leads to, and an account.
import { type Selectable, sql } from 'kysely';
import type { Db } from './database.ts';
import { type DirectoryRow, directoryColumns } from './directories.ts';
import { gatheredOn } from './gathered.ts';
import type { Tables } from './tables.ts';

const ACCOUNT_COLUMNS = [
  'id',
  'directory_id',
  'state',
  'version',
  'origin',
  'order_validations',
  'contacts',
  'thumbprint',
  'spki',
  'eab_jws',
  'terms_agreed',
  'used_on',
] as const satisfies readonly (keyof Tables['acme_keys'])[];

/** An account as its requests need it, in whatever state. */
export type AcmeAccountRow = Pick<Selectable<Tables['acme_keys']>, (typeof ACCOUNT_COLUMNS)[number]>;

/** `accountId` null: nobody's. An account of another directory is found, too. */
type ContextAsk = { readonly slug: string; readonly accountId: string | null };

type Context = {
  readonly directory: DirectoryRow;
  /** Its current slug and all old ones. */
  readonly slugs: readonly string[];
  readonly account: AcmeAccountRow | undefined;
};

type Found = DirectoryRow & { readonly position: number; readonly slugs: readonly string[] } & (
    | { readonly [Column in keyof AcmeAccountRow as `account_${Column}`]: AcmeAccountRow[Column] }
    | { readonly account_id: null }
  );

/** Undefined where the slug leads nowhere, or to a deleted directory. Many at once are one statement. */
export const findContext = gatheredOn<ContextAsk, Context | undefined>(async (db, allAsks) => {
  const asks = [...new Map(allAsks.map((ask) => [nameOf(ask), ask])).values()];
  const { rows } = await sql<Found>`
    select asked.position::integer as position,
           ${sql.join(directoryColumns.map((column) => sql.ref(`directories.${column}`)))},
           array(select slug from directory_slugs
                  where directory_id = directories.id and released_at is null order by slug) as slugs,
           ${sql.join(ACCOUNT_COLUMNS.map((column) => sql`acme_keys.${sql.ref(column)} as ${sql.ref(`account_${column}`)}`))}
      from unnest(${asks.map(({ slug }) => slug)}::text[], ${asks.map(({ accountId }) => accountId)}::uuid[])
           with ordinality as asked (slug, acme_key_id, position)
      join directory_slugs on directory_slugs.slug = asked.slug and directory_slugs.released_at is null
      join directories on directories.id = directory_slugs.directory_id and directories.deleted_at is null
      left join acme_keys on acme_keys.id = asked.acme_key_id`.execute(db);
  const contexts = new Map(rows.map((row) => [row.position, contextOf(row)]));
  const found = new Map(asks.map((ask, index) => [nameOf(ask), contexts.get(index + 1)]));
  return (ask) => found.get(nameOf(ask));
});

const nameOf = ({ slug, accountId }: ContextAsk): string => `${slug} ${accountId}`;

function contextOf({ position: _, slugs, ...row }: Found): Context {
  if (row.account_id === null) return { directory: row, slugs, account: undefined };
  const account = {
    id: row.account_id,
    directory_id: row.account_directory_id,
    state: row.account_state,
    version: row.account_version,
    origin: row.account_origin,
    order_validations: row.account_order_validations,
    contacts: row.account_contacts,
    thumbprint: row.account_thumbprint,
    spki: row.account_spki,
    eab_jws: row.account_eab_jws,
    terms_agreed: row.account_terms_agreed,
    used_on: row.account_used_on,
  };
  return { directory: row, slugs, account };
}

/** Whether the directory has a valid account whose key did not come by ACME. Many at once are one statement. */
export const hasPreregisteredAccount = gatheredOn<string, boolean>(async (db, ids) => {
  const { rows } = await sql<{ readonly id: string }>`
    select id from unnest(${[...new Set(ids)]}::uuid[]) as asked (id),
           lateral (select from acme_keys
                     where directory_id = asked.id and state = 'valid' and origin <> 'acme' limit 1) as one`.execute(
    db,
  );
  const found = new Set(rows.map(({ id }) => id));
  return (id) => found.has(id);
});

/** Notes a day of use. Changes nothing when that day, or a later one, stands there already; need not survive a crash. */
export const stampAccount = (db: Db, id: string, day: string) =>
  sql`
    update acme_keys set used_on = ${day}
     where id = ${id} and (used_on is null or used_on < ${day})
       and set_config('synchronous_commit', 'off', true) is not null`.execute(db);
