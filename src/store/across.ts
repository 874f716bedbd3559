// Lists over several directories or CA certs at once: a page of each, by the index that it has, merged into one.
import { type RawBuilder, sql } from 'kysely';
import type { OrderState } from '../lifecycles/order.ts';
import { columnsOf } from './columns.ts';
import type { Db } from './database.ts';
import { type IssuedCertRow, listedCertColumns } from './issued-certs.ts';
import { LAST_ID } from './keyset.ts';
import { listedOrderColumns, type OrderRow } from './orders.ts';

type Across = {
  readonly ids: readonly string[];
  readonly limit: number;
  /** The last item of the page before. */
  readonly after: string | undefined;
};

/** The newest orders of these directories in this state, with one more than the limit where there are more. */
export async function listOrdersAcross(
  db: Db,
  state: OrderState,
  { ids, limit, after }: Across,
): Promise<readonly OrderRow[]> {
  const { rows } = await sql<OrderRow>`
    select ${columnsOf('o', listedOrderColumns)} from unnest(${ids}::uuid[]) as d (id), lateral (
             select ${columnsOf('orders', listedOrderColumns)}
               from orders
              where directory_id = any(array[d.id]) and state = (select ${state}::text)
                and id < ${after ?? LAST_ID}::uuid
              order by directory_id desc, state desc, id desc limit ${lit(limit)}) o
     order by o.id desc limit ${lit(limit)}`.execute(db);
  return rows;
}

/** Certificates of these CA certs that are neither revoked nor expired, those that end first, with one more than the limit. */
export async function listLiveCertsAcross(
  db: Db,
  now: Date,
  { ids, limit, after }: Across,
): Promise<readonly IssuedCertRow[]> {
  const begin =
    after === undefined
      ? sql`(${now}::timestamptz, ${LAST_ID}::uuid)`
      : sql`(select greatest(not_after, ${now}), case when not_after > ${now} then id else ${LAST_ID}::uuid end
               from issued_certs where id = ${after})`;
  const { rows } = await sql<IssuedCertRow>`
    select ${columnsOf('c', listedCertColumns)} from unnest(${ids}::uuid[]) as s (id), lateral (
             select ${columnsOf('issued_certs', listedCertColumns)}
               from issued_certs
              where signing_cert_id = any(array[s.id]) and revoked_at is null and (not_after, id) > ${begin}
              order by signing_cert_id, not_after, id limit ${lit(limit)}) c
     order by c.not_after, c.id limit ${lit(limit)}`.execute(db);
  return rows;
}

/** In the text of the statement, so that Postgres plans for a page. */
const lit = (limit: number): RawBuilder<unknown> => sql.lit(limit + 1);
