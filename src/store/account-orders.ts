// The orders that an account's client is shown in its list, newest first: all that are not invalid.
import { type SqlBool, sql } from 'kysely';
import type { OrderState } from '../lifecycles/order.ts';
import type { Db } from './database.ts';
import { mergedPages, pageQuery } from './keyset.ts';

type PageOfIds = { readonly ids: readonly string[]; readonly hasMore: boolean };
type Wanted = { readonly acmeKeyId: string; readonly after: string | undefined; readonly limit: number };

/** Each walks its own part of the index, so that invalid orders cost nothing, however many there are. */
const shownStates = ['pending', 'ready', 'processing', 'valid'] as const satisfies readonly OrderState[];

/** Those older than the order `after`, which need not exist any more. Open ones past their end are invalid. */
export async function listAccountOrderIds(db: Db, wanted: Wanted, now: Date): Promise<PageOfIds> {
  const page = { limit: wanted.limit, direction: 'desc' } as const;
  const walks = shownStates.map((state) => {
    const query = db
      .selectFrom('orders')
      .select('id')
      // Hidden from the planner, which would else take the index of all open orders and sort.
      .where(sql<SqlBool>`coalesce(orders.expires_at > ${now} or orders.state in ('processing', 'valid'), false)`)
      .where(wanted.after === undefined ? sql<SqlBool>`true` : sql<SqlBool>`orders.id < ${wanted.after}`);
    const within = { acme_key_id: wanted.acmeKeyId, state: sql<string>`(select ${state}::text)` };
    return pageQuery(query, { table: 'orders', within, columns: ['id'] }, page);
  });
  const rows = await mergedPages(db, walks, ['id'], page).execute();
  return { ids: rows.slice(0, wanted.limit).map(({ id }) => id), hasMore: rows.length > wanted.limit };
}
