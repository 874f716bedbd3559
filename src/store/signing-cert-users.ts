// How many depend on a CA cert, for who is told why it stays.
import { sql } from 'kysely';
import type { Db, Tx } from './database.ts';

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

export async function countSigningCertUsers(tx: Tx, id: string, now: Date): Promise<UserCounts> {
  const { rows } = await sql<UserCounts>`
    select (select count(*)::integer from signing_certs where parent_id = ${id} and deleted_at is null) as children,
           (select count(*)::integer from directories where signing_cert_id = ${id} and deleted_at is null) as directories,
           (select count(*)::integer from orders where signing_cert_id = ${id} and state = 'processing') as orders,
           (select count(*)::integer from (
              select from issued_certs
               where signing_cert_id = ${id} and revoked_at is null and not_after > ${now}
               limit ${MOST_COUNTED + 1}) live) as leaves,
           (select max(not_after) from issued_certs
             where signing_cert_id = ${id} and revoked_at is null and not_after > ${now}) as leaves_end`.execute(tx);
  const [counts] = rows;
  if (counts === undefined) throw new Error('a select without from gives one row');
  return counts;
}

/** Those of these CA certs that still have a certificate out. */
export async function findLiveIssuers(db: Db, ids: readonly string[], now: Date): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from unnest(${ids}::uuid[]) with ordinality as former (id, position)
     where exists (select from issued_certs
                    where signing_cert_id = former.id and revoked_at is null and not_after > ${now})
     order by position`.execute(db);
  return rows.map(({ id }) => id);
}
