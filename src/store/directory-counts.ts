// How much there is in directories, counted no further than a bound: each count walks one index, in its order, and stops.
import { type RawBuilder, sql } from 'kysely';
import type { Db } from './database.ts';

export type DirectoryCounts = {
  readonly id: string;
  /** Account keys in force. */
  readonly accounts: number;
  readonly unused_tokens: number;
  /** Orders that are neither valid nor invalid. */
  readonly open_orders: number;
  /** Of the orders made since then. */
  readonly issued_lately: number;
  readonly failed_lately: number;
  /** Certificates that are neither revoked nor expired. */
  readonly live_certs: number;
};

export type CountBounds = {
  readonly now: Date;
  /** The least id of what counts as lately. */
  readonly since: string;
  /** Nothing is counted beyond it. */
  readonly most: number;
};

export async function countInDirectories(
  db: Db,
  ids: readonly string[],
  { now, since, most }: CountBounds,
): Promise<readonly DirectoryCounts[]> {
  // In the order of the index: without one Postgres might read the table from its begin until it has enough.
  const count = (from: RawBuilder<unknown>, order: RawBuilder<unknown>) =>
    sql`(select count(*)::int from (select ${from} order by ${order} limit ${sql.lit(most)}) counted)`;
  const orders = (state: string, lately = sql``) =>
    count(
      sql`from orders o where o.directory_id = any(array[d.id]) and o.state = ${sql.lit(state)} ${lately}`,
      sql`o.directory_id, o.state, o.id`,
    );
  const sinceThen = sql`and o.id >= ${since}::uuid`;
  const { rows } = await sql<DirectoryCounts>`
    select d.id,
           ${count(
             sql`from acme_keys k where k.directory_id = any(array[d.id]) and k.state = 'valid'`,
             sql`k.directory_id, k.state, k.id`,
           )} as accounts,
           ${count(
             sql`from external_bindings e
                  where e.directory_id = any(array[d.id]) and e.acme_key_id is null and e.deleted_at is null`,
             sql`e.directory_id, e.id`,
           )} as unused_tokens,
           ${orders('pending')} + ${orders('ready')} + ${orders('processing')} as open_orders,
           ${orders('valid', sinceThen)} as issued_lately,
           ${orders('invalid', sinceThen)} as failed_lately,
           ${count(
             sql`from issued_certs c
                  where c.directory_id = any(array[d.id]) and c.revoked_at is null and c.not_after > ${now}`,
             sql`c.directory_id, c.not_after, c.id`,
           )} as live_certs
      from unnest(${ids}::uuid[]) as d (id)`.execute(db);
  return rows;
}
