// Statements on issued_certs. Lists walk the index that is made for them; see the migration for which there are.
import { type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely';
import { type AccountFilter, indexedIds, keyInDirectory } from './account-filter.ts';
import type { Db } from './database.ts';
import { gatheredRows } from './gathered.ts';
import { mergedPages, type PageOfRows, type Paging, pageQuery, rowsOfPage, type TimeRange } from './keyset.ts';
import { liveLeaves } from './signing-cert-users.ts';
import type { Tables } from './tables.ts';

type Row = Selectable<Tables['issued_certs']>;
export type IssuedCertRow = Pick<Row, (typeof listedCertColumns)[number]>;
/** With the certificate, which lists do not read. */
export type StoredCertRow = Pick<Row, (typeof STORED)[number]>;

/** One of the three ids has to be there. */
export type IssuedCertFilter = AccountFilter & {
  readonly signingCertId?: string | undefined;
  readonly state?: 'valid' | 'expired' | 'revoked' | undefined;
  /** A name or address, as certificates have it. */
  readonly subject?: string | undefined;
  readonly serial?: Buffer | undefined;
  /** Neither of the two times is included. */
  readonly expiresBefore?: Date | undefined;
  readonly expiresAfter?: Date | undefined;
};

export const listedCertColumns = [
  'id',
  'order_id',
  'acme_key_id',
  'directory_id',
  'signing_cert_id',
  'not_after',
  'state',
  'reason',
  'subjects',
] as const;
const STORED = [...listedCertColumns, 'serial', 'der'] as const;

export const findIssuedCert = gatheredRows<StoredCertRow>((db, ids) =>
  db.selectFrom('issued_certs').select(STORED).where('id', '=', ids),
);

/** By expiry, then id, where the filter speaks of expiry; else by id. Undefined when there is no row to begin after. */
export const listIssuedCertRows = (
  db: Db,
  filter: IssuedCertFilter,
  page: Paging,
  now: Date,
): Promise<PageOfRows<IssuedCertRow> | undefined> =>
  rowsOfPage(db, 'issued_certs', page, listQuery({ db, filter, page, range: rangeOf(filter, now) }));

/** How many certificates of a CA are neither revoked nor expired, `limit` at most. */
export async function countLiveLeaves(
  db: Db,
  signingCertId: string,
  { now, limit }: { readonly now: Date; readonly limit: number },
): Promise<number> {
  const { rows } = await sql<{ readonly count: number }>`
    select count(*)::int as count from (${liveLeaves(signingCertId, now, limit)}) live`.execute(db);
  return rows[0]?.count ?? 0;
}

type List = {
  readonly db: Db;
  readonly filter: IssuedCertFilter;
  readonly page: Paging;
  /** Of not_after; undefined where the filter does not speak of expiry. */
  readonly range: TimeRange | undefined;
};

function listQuery(list: List) {
  const { serial, subject } = list.filter;
  if (serial !== undefined) return among(list, sql`select id from issued_certs where serial = ${serial}`);
  if (subject === undefined) return walkIds(list);
  if (list.range === undefined) return walkName(list, subject);
  return among(list, sql`select issued_cert_id from issued_cert_names where name = ${subject}`);
}

/** Through the index that begins with the ids of the filter. By expiry, revoked certificates have one of their own. */
function walkIds({ db, filter, page, range }: List) {
  const { signingCertId } = filter;
  const within = { ...indexedIds(filter), ...(signingCertId !== undefined && { signing_cert_id: signingCertId }) };
  const parts = range !== undefined && filter.state === undefined ? [unrevoked, revoked] : [revocation(filter)];
  const pages = parts.map((part) => {
    const query = db
      .selectFrom('issued_certs')
      .select(listedCertColumns)
      .where(allOf([part, keyInDirectory(filter)]));
    return pageQuery(query, { table: 'issued_certs', within, columns: columnsOf(range), range }, page);
  });
  const [only, ...others] = pages;
  return only !== undefined && others.length === 0 ? only : mergedPages(db, pages, columnsOf(range), page);
}

/** Through the certificates of one name, in the order of their ids. */
function walkName({ db, filter, page }: List, name: string) {
  const query = db
    .selectFrom('issued_cert_names')
    .innerJoinLateral(
      (from) =>
        from
          .selectFrom('issued_certs')
          .select([...listedCertColumns, 'revoked_at'])
          .whereRef('issued_certs.id', '=', 'issued_cert_names.issued_cert_id')
          .offset(sql.lit(0))
          .as('issued_certs'),
      (join) => join.onTrue(),
    )
    .select(listedCertColumns)
    .where(allOf([sameIds(filter), revocation(filter)]));
  const within = { 'issued_cert_names.name': name };
  return pageQuery(
    query,
    { table: 'issued_certs', within, columns: ['id'], idIn: 'issued_cert_names.issued_cert_id' },
    page,
  );
}

/** Of the certificates that a query of ids names: all of one serial number are few, and so are those of one name. */
function among({ db, filter, page, range }: List, ids: RawBuilder<unknown>) {
  const { subject } = filter;
  const conditions = [
    sameIds(filter),
    revocation(filter),
    subject === undefined ? undefined : sql<SqlBool>`${subject} = any(issued_certs.subjects)`,
    range?.above === undefined ? undefined : sql<SqlBool>`issued_certs.not_after > ${range.above}`,
    range?.below === undefined ? undefined : sql<SqlBool>`issued_certs.not_after < ${range.below}`,
  ];
  const query = db
    .selectFrom((from) =>
      from
        .selectFrom('issued_certs')
        .select([...listedCertColumns, 'revoked_at'])
        .where(sql<SqlBool>`id = any(array(${ids}))`)
        // Keeps the other conditions out of here, and with them the indexes that they would lead to.
        .offset(sql.lit(0))
        .as('issued_certs'),
    )
    .select(listedCertColumns)
    .where(allOf(conditions));
  return pageQuery(query, { table: 'issued_certs', columns: columnsOf(range) }, page);
}

type Condition = RawBuilder<SqlBool>;

const unrevoked = sql<SqlBool>`issued_certs.revoked_at is null`;
const revoked = sql<SqlBool>`issued_certs.revoked_at is not null`;

function revocation({ state }: IssuedCertFilter): Condition | undefined {
  if (state === undefined) return undefined;
  return state === 'revoked' ? revoked : unrevoked;
}

const columnsOf = (range: TimeRange | undefined): readonly ('not_after' | 'id')[] =>
  range === undefined ? ['id'] : ['not_after', 'id'];

function sameIds({ acmeKeyId, directoryId, signingCertId }: IssuedCertFilter): Condition {
  const ids = { acme_key_id: acmeKeyId, directory_id: directoryId, signing_cert_id: signingCertId };
  return allOf(
    Object.entries(ids).map(([column, id]) =>
      id === undefined ? undefined : sql<SqlBool>`${sql.ref(`issued_certs.${column}`)} = ${id}`,
    ),
  );
}

function rangeOf({ state, expiresBefore, expiresAfter }: IssuedCertFilter, now: Date): TimeRange | undefined {
  const [above] = sorted(state === 'valid' ? now : undefined, expiresAfter).toReversed();
  // At the instant of its end, which is a whole second, a certificate has expired.
  const [below] = sorted(state === 'expired' ? new Date(now.getTime() + 1) : undefined, expiresBefore);
  return above === undefined && below === undefined ? undefined : { above, below };
}

const sorted = (...times: readonly (Date | undefined)[]): readonly Date[] =>
  times.filter((time) => time !== undefined).sort((a, b) => a.getTime() - b.getTime());

function allOf(conditions: readonly (Condition | undefined)[]): Condition {
  const all = conditions.filter((condition) => condition !== undefined);
  return all.length === 0 ? sql`true` : sql.join(all, sql` and `);
}
