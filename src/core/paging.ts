// Lists: one page of views, and whether there are more.
import type { NameOrId, PageOfRows, PageRequest } from '../store/keyset.ts';
import { CaError } from './errors.ts';

export type { NameOrId, PageRequest };

export type Page<View> = { readonly items: readonly View[]; readonly hasMore: boolean };

/** Throws `unknown_cursor` where the store found no row to begin after. */
export const pageOf = <Row, View>(page: PageOfRows<Row> | undefined, viewOf: (row: Row) => View): Page<View> =>
  page === undefined ? unknownCursor() : { items: page.rows.map(viewOf), hasMore: page.hasMore };

export function unknownCursor(): never {
  const detail = 'There is no item with the id given in "after"; begin again without it.';
  throw new CaError('unknown_cursor', detail, { field: 'after' });
}
