// Statements on orders for callers of /v1.
import { type Selectable, type SqlBool, sql } from 'kysely';
import type { OrderState } from '../lifecycles/order.ts';
import { type AccountFilter, indexedIds, keyInDirectory } from './account-filter.ts';
import type { Db, Tx } from './database.ts';
import { gatheredRows } from './gathered.ts';
import { mergedPages, type PageOfRows, type Paging, pageQuery, rowsOfPage } from './keyset.ts';
import { moveOrder } from './move.ts';
import type { StoredProblem, Tables } from './tables.ts';

type Row = Selectable<Tables['orders']>;
export type OrderRow = Pick<Row, (typeof listedOrderColumns)[number]>;
export type SingleOrderRow = Pick<Row, (typeof SINGLE)[number]>;

/** One of the two ids has to be there. */
export type OrderFilter = AccountFilter & { readonly state?: OrderState | undefined };

type List = { readonly db: Db; readonly filter: OrderFilter; readonly page: Paging; readonly now: Date };

export const listedOrderColumns = [
  'id',
  'acme_key_id',
  'directory_id',
  'created_at',
  'expires_at',
  'not_before',
  'not_after',
  'state',
  'identifiers',
] as const;
const SINGLE = [...listedOrderColumns, 'error', 'issued_cert_id'] as const;

/** More than a sweep leaves behind; the bound keeps lists fast when none has run for days. */
const MOST_OVERDUE = 10_000;

export const findOrder = gatheredRows<SingleOrderRow>((db, ids) =>
  db.selectFrom('orders').select(SINGLE).where('id', '=', ids),
);

/** For who is about to decide by its state. */
export const lockOrder = (tx: Tx, id: string): Promise<SingleOrderRow | undefined> =>
  tx.selectFrom('orders').select(SINGLE).where('id', '=', id).forUpdate().executeTakeFirst();

/** Ends an order that is not under way. Undefined when it is no longer open. */
export const cancelOpenOrder = (tx: Tx, id: string, error: StoredProblem): Promise<SingleOrderRow | undefined> =>
  moveOrder(tx, id, 'invalid', {
    from: ['pending', 'ready'],
    set: { error: JSON.stringify(error) },
    returning: SINGLE,
  });

/** By id. An open order past its end is listed as invalid, as it is shown. Undefined when there is no row to begin after. */
export const listOrderRows = (
  db: Db,
  filter: OrderFilter,
  page: Paging,
  now: Date,
): Promise<PageOfRows<OrderRow> | undefined> => rowsOfPage(db, 'orders', page, listQuery({ db, filter, page, now }));

function listQuery(list: List) {
  const { db, filter, page, now } = list;
  switch (filter.state) {
    case 'pending':
    case 'ready':
      // Almost all are; but that state and time go together no statistics say, and coalesce() hides the time from them.
      return walkIds(list, sql`coalesce(orders.expires_at > ${now}, false)`);
    case 'invalid':
      return mergedPages(db, [walkIds(list), overdue(list)], ['id'], page);
    case undefined:
    case 'processing':
    case 'valid':
      return walkIds(list);
  }
}

function walkIds({ db, filter, page }: List, condition = sql<SqlBool>`true`) {
  const { state } = filter;
  const query = db.selectFrom('orders').select(listedOrderColumns).where(condition).where(keyInDirectory(filter));
  // Not a constant to the planner, which would else take the index of all open orders and sort.
  const within = { ...indexedIds(filter), ...(state !== undefined && { state: sql<string>`(select ${state}::text)` }) };
  return pageQuery(query, { table: 'orders', within, columns: ['id'] }, page);
}

/** Those that have ended without anybody's doing, of the whole service: a sweep moves them soon, so they are few. */
function overdue({ db, filter, page, now }: List) {
  const query = db
    .selectFrom((orders) =>
      orders
        .selectFrom('orders')
        .select(listedOrderColumns)
        // Written out, as the predicate of their index is.
        .where(sql<SqlBool>`state in ('pending', 'ready')`)
        .where('expires_at', '<=', now)
        .orderBy('expires_at')
        .limit(sql.lit(MOST_OVERDUE))
        .as('orders'),
    )
    .select(listedOrderColumns)
    .where(keyInDirectory(filter));
  return pageQuery(query, { table: 'orders', within: indexedIds(filter), columns: ['id'] }, page);
}
