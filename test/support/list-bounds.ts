// How much a statement may read for a page of a list: by the rows and pages that Postgres looked at.
import type { PageRequest } from '../../src/store/keyset.ts';
import { counts, idOf, recordId } from './million-certs.ts';
import type { Plan } from './plans.ts';

export const LIMIT = 50;

export type ListPage = PageRequest<'id' | 'name'>;
export type Bounds = { readonly rows: number; readonly pages: number };

/** Each row may lie on a page of its own; finding the begin takes a page per level of each index. */
export const ofPage: Bounds = { rows: 3 * (LIMIT + 1) + 10, pages: 3 * (LIMIT + 1) + 60 };

/** Pages from the begin, and after items at the begin, in the middle and at the end of the whole table. */
export const pagesOf = (table: keyof typeof counts, sorts: readonly ListPage['sort'][]): readonly ListPage[] => {
  const idIn = table === 'audit' ? recordId : idOf;
  const cursors = [undefined, ...[0.01, 0.5, 0.99].map((part) => idIn(part * counts[table]))];
  return sorts.flatMap((sort) =>
    (['asc', 'desc'] as const).flatMap((direction) =>
      cursors.map((after) => ({ limit: LIMIT, direction, sort, ...(after !== undefined && { after }) })),
    ),
  );
};

/** In what a plan goes beyond its bounds, or reads what no index led to. */
export function faultOf({ scans, rowsRead, rowsSorted, pages }: Plan, bounds: Bounds): string | undefined {
  const scan = scans.find((kind) => !/^(Index|Index Only|Bitmap Index|Bitmap Heap) Scan$/.test(kind));
  if (scan !== undefined) return scan;
  if (rowsRead > bounds.rows) return `${rowsRead} rows read`;
  if (rowsSorted > bounds.rows) return `${rowsSorted} rows sorted`;
  if (pages > bounds.pages) return `${pages} pages looked at`;
  return undefined;
}
