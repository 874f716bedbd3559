// Who depends on a CA cert, and how many, for who is told why it stays.
import { type Expression, sql } from 'kysely';
import type { Db, Tx } from './database.ts';

/** What still depends on a CA cert. */
export type SigningCertUsers = {
  readonly has_children: boolean;
  readonly has_directories: boolean;
  readonly has_orders: boolean;
  readonly has_leaves: boolean;
};

export type UserCounts = {
  readonly children: number;
  readonly directories: number;
  readonly orders: number;
  /** Of more than MOST_COUNTED only that they are more. */
  readonly leaves: number;
  /** When the last of them ends. */
  readonly leaves_end: Date | null;
};

export const MOST_COUNTED = 100_000;

/** Who depends on it now. After lockSigningCert nobody new comes. */
export const findSigningCertUsers = (tx: Tx, id: string, now: Date): Promise<SigningCertUsers> =>
  tx.selectFrom('signing_certs').select(signingCertUsers(now)).where('id', '=', id).executeTakeFirstOrThrow();

/**
 * Certificates of a CA that are neither revoked nor expired, so many at most. In the order of the index that has them side
 * by side: others look as good, and are walked as a whole.
 */
export const liveLeaves = (signingCertId: string | Expression<unknown>, now: Date, limit: number) => sql`
  select from issued_certs
   where signing_cert_id = ${signingCertId} and revoked_at is null and not_after > ${now}
   order by not_after, id limit ${sql.lit(limit)}`;

export async function countSigningCertUsers(tx: Tx, id: string, now: Date): Promise<UserCounts> {
  const { rows } = await sql<UserCounts>`
    select (select count(*)::integer from signing_certs where parent_id = ${id} and deleted_at is null) as children,
           (select count(*)::integer from directories where signing_cert_id = ${id} and deleted_at is null) as directories,
           (select count(*)::integer from orders where signing_cert_id = ${id} and state = 'processing') as orders,
           (select count(*)::integer from (${liveLeaves(id, now, MOST_COUNTED + 1)}) live) as leaves,
           (select not_after from issued_certs
             where signing_cert_id = ${id} and revoked_at is null and not_after > ${now}
             order by not_after desc, id desc limit 1) as leaves_end`.execute(tx);
  const [counts] = rows;
  if (counts === undefined) throw new Error('a select without from gives one row');
  return counts;
}

/** Those of these CA certs that still have a certificate out. */
export async function findLiveIssuers(db: Db, ids: readonly string[], now: Date): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from unnest(${ids}::uuid[]) with ordinality as former (id, position),
                   lateral (${liveLeaves(sql.ref('former.id'), now, 1)}) live
     order by position`.execute(db);
  return rows.map(({ id }) => id);
}

/** For a select from signing_certs. */
export const signingCertUsers = (now: Date) =>
  [
    sql<boolean>`exists (
      select from signing_certs child where child.parent_id = signing_certs.id and child.deleted_at is null)`.as(
      'has_children',
    ),
    sql<boolean>`exists (
      select from directories d where d.signing_cert_id = signing_certs.id and d.deleted_at is null)`.as(
      'has_directories',
    ),
    sql<boolean>`exists (
      select from orders o where o.signing_cert_id = signing_certs.id and o.state = 'processing')`.as('has_orders'),
    sql<boolean>`exists (select from (${liveLeaves(sql.ref('signing_certs.id'), now, 1)}) live)`.as('has_leaves'),
  ] as const;
