// Keyset paging: a page begins after the row that ended the one before, wherever inserts have moved it since.
import { type Compilable, type Expression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Db } from './database.ts';
import type { Tables } from './tables.ts';

export type PageRequest<Sort extends string = string> = {
  readonly limit: number;
  readonly direction: 'asc' | 'desc';
  readonly sort: Sort;
  /** Id of the last item of the page before. */
  readonly after?: string;
};

export type PageOfRows<Row> = { readonly rows: readonly Row[]; readonly hasMore: boolean };

/** The index that a list walks: the columns that it begins with, and then those that order the list. */
export type Keyset<T extends keyof Tables> = {
  /** The table that is listed. */
  readonly table: T;
  /** What every row of the list has in the columns that the index begins with. Of another table: `table.column`. */
  readonly within?: Readonly<Record<string, string | Expression<string>>>;
  /** The columns that follow, the last one is `id`. */
  readonly columns: readonly (keyof Tables[T] & string)[];
  /** Where the index of another table is walked: its column that stands for `id`. */
  readonly idIn?: string;
  /** Bounds of the first of `columns`, a time; neither of them is included. */
  readonly range?: TimeRange | undefined;
};

export type TimeRange = { readonly above?: Date | undefined; readonly below?: Date | undefined };

/** The request for a page of a list that has one order. */
export type Paging = Omit<PageRequest, 'sort'>;

/** Beyond every id there can be at one time. */
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

export type NameOrId = 'name' | 'id';

/** The columns that a list of things with names is ordered by. */
export const columnsBy = (sort: NameOrId): readonly NameOrId[] => (sort === 'name' ? ['name', 'id'] : ['id']);

/** Undefined when the row to begin after does not exist; see rowsOfPage. */
export const readPage = <T extends keyof Tables, Row>(
  db: Db,
  query: SelectQueryBuilder<Tables, T, Row>,
  keyset: Keyset<T>,
  page: Paging,
): Promise<PageOfRows<Row> | undefined> => rowsOfPage(db, keyset.table, page, pageQuery(query, keyset, page));

/**
 * The page of a query, in the order of its index. `= any` keeps the column in the order that is asked for: given
 * `directory_id = $1 order by id`, Postgres may walk the primary key instead, and filter millions. The scan ends where
 * the page does, because the columns before the bounds are equal and each end has one bound alone.
 */
export function pageQuery<T extends keyof Tables, Sources, From extends keyof Sources, Row>(
  query: SelectQueryBuilder<Sources, From, Row>,
  keyset: Keyset<T>,
  page: Paging,
): SelectQueryBuilder<Sources, From, Row> {
  const { table, within = {}, columns, idIn } = keyset;
  const qualified = (name: string) => sql.ref(name.includes('.') ? name : `${table}.${name}`);
  const [first, ...others] = Object.entries(within).map(([name, value]) => ({ name: qualified(name), value }));
  const names = columns.map((column) => qualified(column === 'id' && idIn !== undefined ? idIn : column));
  const conditions = [
    ...(first === undefined ? [] : [sql<SqlBool>`${first.name} = any(${[first.value]})`]),
    ...others.map(({ name, value }) => sql<SqlBool>`${name} = ${value}`),
    ...[boundOf('>', keyset, page), boundOf('<', keyset, page)].flatMap(({ comparison, values }) =>
      values.length === 0
        ? []
        : [sql<SqlBool>`(${sql.join(names.slice(0, values.length))}) ${sql.raw(comparison)} (${sql.join(values)})`],
    ),
  ];
  const order = first === undefined ? names : [first.name, ...names];
  return order
    .reduce(
      (all, name) => all.orderBy(name, page.direction),
      conditions.reduce((all, condition) => all.where(condition), query),
    )
    .limit(sql.lit(rowsAskedFor(page)));
}

/** One page out of several that have the same order and no row in common. */
export const mergedPages = <Row>(
  db: Db,
  queries: readonly Expression<Row>[],
  columns: readonly string[],
  page: Paging,
) =>
  columns
    .reduce(
      (all, column) => all.orderBy(sql.ref(column), page.direction),
      db.selectFrom(sql<Row>`(${sql.join(queries, sql` union all `)})`.as('merged')).selectAll(),
    )
    .limit(sql.lit(rowsAskedFor(page)));

/**
 * The rows of a page, without the one more that tells of another page. Undefined when the row to begin after does not
 * exist. It need not be in the list any more: a filter may have lost it, or a deletion, and the next page still begins
 * where it stood.
 */
export async function rowsOfPage<Row>(
  db: Db,
  table: keyof Tables,
  { limit, after }: Paging,
  query: Compilable<Row>,
): Promise<PageOfRows<Row> | undefined> {
  const { rows } = await db.executeQuery(query.compile());
  if (rows.length > 0 || after === undefined || (await exists(db, table, after)))
    return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
  return undefined;
}

type Bound = { readonly comparison: '>' | '<'; readonly values: readonly Expression<unknown>[] };

/** The lower or the upper end of the part of the index that the page lies in. Without values it is open. */
function boundOf<T extends keyof Tables>(
  comparison: '>' | '<',
  { table, columns, range = {} }: Keyset<T>,
  { direction, after }: Paging,
): Bound {
  const time = comparison === '>' ? range.above : range.below;
  const end = time && { time: sql`${time}`, id: sql.lit(comparison === '>' ? LAST_ID : FIRST_ID) };
  const isBeginning = (direction === 'asc') === (comparison === '>');
  if (!isBeginning || after === undefined) return { comparison, values: end === undefined ? [] : [end.time, end.id] };
  const values = columns.map((column) => {
    const value = sql.ref(column);
    if (end === undefined) return value;
    // A row to begin after may lie outside the range, when it comes from another list: then the range decides.
    const isOutside = sql`${sql.ref(columns[0] ?? '')} ${sql.raw(comparison === '>' ? '<=' : '>=')} ${end.time}`;
    return sql`case when ${isOutside} then ${column === 'id' ? end.id : end.time} else ${value} end`;
  });
  return {
    comparison,
    values: values.map((value) => sql`(select ${value} from ${sql.table(table)} where id = ${after})`),
  };
}

// In the text of the statement, so that Postgres knows it when it plans once for all values; few sizes, few texts.
const rowsAskedFor = ({ limit }: Paging): number => [11, 51, 201].find((size) => size > limit) ?? limit + 1;

async function exists(db: Db, table: keyof Tables, id: string): Promise<boolean> {
  const { rows } = await sql`select from ${sql.table(table)} where id = ${id}`.execute(db);
  return rows.length > 0;
}
