// Keyset paging: a page begins after the row that ended the one before, wherever inserts have moved it since.
import { type Kysely, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Tables } from './tables.ts';

export type PageRequest<Sort extends string = string> = {
  readonly limit: number;
  readonly direction: 'asc' | 'desc';
  readonly sort: Sort;
  /** Id of the last item of the page before. */
  readonly after?: string;
};

export type PageOfRows<Row> = { readonly rows: readonly Row[]; readonly hasMore: boolean };

/** The table that is listed, and the columns that order it; an index must hold them, the last one is `id`. */
export type Keyset<T extends keyof Tables> = {
  readonly table: T;
  readonly columns: readonly (keyof Tables[T] & string)[];
};

/**
 * Undefined when the row to begin after does not exist. It need not be in the list any more: a filter may have lost it,
 * or a deletion, and the next page still begins where it stood.
 */
export async function readPage<T extends keyof Tables, Row>(
  db: Kysely<Tables>,
  query: SelectQueryBuilder<Tables, T, Row>,
  { table, columns }: Keyset<T>,
  { limit, direction, after }: Omit<PageRequest, 'sort'>,
): Promise<PageOfRows<Row> | undefined> {
  const names = columns.map((column) => sql.ref(`${table}.${column}`));
  let page = names
    .reduce((ordered, name) => ordered.orderBy(name, direction), query)
    // One more than asked tells whether there is another page.
    .limit(limit + 1);
  if (after !== undefined) {
    const { rows } = await sql<Readonly<Record<string, unknown>>>`
      select ${sql.join(columns.map((column) => sql.ref(column)))} from ${sql.table(table)} where id = ${after}`.execute(
      db,
    );
    const [last] = rows;
    if (last === undefined) return undefined;
    const values = columns.map((column) => sql`${last[column]}`);
    const comparison = sql.raw(direction === 'asc' ? '>' : '<');
    page = page.where(sql<SqlBool>`(${sql.join(names)}) ${comparison} (${sql.join(values)})`);
  }
  const rows = await page.execute();
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
}
