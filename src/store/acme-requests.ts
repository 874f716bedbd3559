// What a request of an ACME client stands on, in one round trip: the directory that a slug leads to, and an account.
import type { Selectable, SqlBool } from 'kysely';
import type { Db } from './database.ts';
import { type DirectoryRow, directoryColumns } from './directories.ts';
import { gatheredOn, gatheredRows } from './gathered.ts';
import type { NonceClaim, NonceClaimed } from './nonces.ts';
import { quickly } from './quick-writes.ts';
import { sql } from './statement.ts';
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

/** Which rows stand there now. They are large and change rarely: who has those of these versions reads them no more. */
export type SeenContext = {
  readonly directory_id: string;
  readonly directory_version: number;
  /** Of the CA cert that the directory issues from. */
  readonly issuer_version: number;
  readonly account_id: string | null;
  readonly account_version: number | null;
  readonly used_on: string | null;
};

const seenColumns = sql`
  directories.id as directory_id, directories.version as directory_version,
  (select version from signing_certs where signing_certs.id = directories.signing_cert_id) as issuer_version,
  acme_keys.id as account_id, acme_keys.version as account_version, acme_keys.used_on`;

const slugAsked = sql`
  lateral (select directory_id from directory_slugs where slug = asked.slug and released_at is null limit 1) named`;

/** Undefined where the slug leads nowhere, or to a deleted directory. Many at once are one statement. */
export const seeContext = gatheredOn<ContextAsk, SeenContext | undefined>(async (db, asks) => {
  const { rows } = await sql<SeenContext & { readonly position: number }>`
    select asked.position::integer as position, ${seenColumns}
      from unnest(${asks.map(({ slug }) => slug)}::text[], ${asks.map(({ accountId }) => accountId)}::uuid[])
           with ordinality as asked (slug, acme_key_id, position)
      cross join ${slugAsked}
      join directories on directories.id = named.directory_id and (directories.deleted_at is null) is true
      left join acme_keys on acme_keys.id = asked.acme_key_id`.execute(db);
  const seen = new Map(rows.map((row) => [asks[row.position - 1], row]));
  return (ask) => seen.get(ask);
});

/** With all its slugs: the current one and the old ones, whose coming and going is a new version of the row. */
export const findDirectoryWithSlugs = gatheredRows<DirectoryRow & { readonly slugs: string[] }>((db, ids) =>
  db
    .selectFrom('directories')
    .select(directoryColumns)
    .select(
      sql<string[]>`array(select slug from directory_slugs
                           where directory_id = directories.id and (released_at is null) is true)`.as('slugs'),
    )
    .where('id', '=', ids)
    .where(sql<SqlBool>`(deleted_at is null) is true`),
);

export const findAccountRow = gatheredRows<AcmeAccountRow>((db, ids) =>
  db.selectFrom('acme_keys').select(ACCOUNT_COLUMNS).where('id', '=', ids),
);

/** What a signed request begins with. */
type SignedAsk = ContextAsk & { readonly nonce: NonceClaim };
type Begun = { readonly claimed: NonceClaimed; readonly seen: SeenContext | undefined };

type BegunRow = { readonly position: number; readonly nonce_kid: string | null; readonly is_claimed: boolean } & (
  | SeenContext
  | { readonly directory_id: null }
);

/**
 * As seeContext, and spends the nonce. Of several claims of one nonce, here or on other replicas, exactly one is
 * `claimed`. They are spent in one order, or two statements that hold each other's would wait for each other.
 */
export const beginSigned = gatheredOn<SignedAsk, Begun>(async (db, asks) => {
  const column = <Value>(read: (ask: SignedAsk) => Value): readonly Value[] => asks.map(read);
  const { rows } = await sql<BegunRow>`
    with asked as (
      select * from unnest(${column(({ slug }) => slug)}::text[], ${column(({ accountId }) => accountId)}::uuid[],
                           ${column(({ nonce }) => nonce.unique)}::bytea[], ${column(({ nonce }) => nonce.kid)}::text[])
                    with ordinality as asked (slug, acme_key_id, nonce, kid, position)),
    claimed as (
      insert into spent_nonces (nonce)
      select asked.nonce from asked
       where exists (select from nonce_keys where nonce_keys.kid = asked.kid)
       order by asked.nonce
      on conflict do nothing
      returning nonce)
    select asked.position::integer as position, (select kid from nonce_keys) as nonce_kid,
           asked.nonce in (select nonce from claimed) as is_claimed, ${seenColumns}
      from asked
      left join ${slugAsked} on true
      left join directories on directories.id = named.directory_id and (directories.deleted_at is null) is true
      left join acme_keys on acme_keys.id = asked.acme_key_id
     order by asked.position`.execute(db);
  const won = new Set<string>();
  const begun = new Map(
    rows.map((row) => {
      const ask = asks[row.position - 1];
      return [ask, { claimed: outcomeOf(row, ask?.nonce, won), seen: row.directory_id === null ? undefined : row }];
    }),
  );
  return (ask) => begun.get(ask) ?? { claimed: 'key_lost', seen: undefined };
});

/** Of two equal ones in a statement the first has it. */
function outcomeOf({ nonce_kid, is_claimed }: BegunRow, nonce: NonceClaim | undefined, won: Set<string>): NonceClaimed {
  if (nonce === undefined || nonce.kid !== nonce_kid) return 'key_lost';
  const text = nonce.unique.toString('hex');
  if (!is_claimed || won.has(text)) return 'spent';
  won.add(text);
  return 'claimed';
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
       and set_config('synchronous_commit', 'off', true) is not null`.execute(quickly(db));
