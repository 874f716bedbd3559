// Rows that many requests stand on, read once for each version of them.
import type { Db } from '../store/database.ts';
import { Recent } from './recent.ts';

type Versioned = { readonly version: number };

/**
 * The row of an id in the version that was seen. A row of a version never changes, where `isFixed` does not say otherwise;
 * a newer one than was seen is as good. Undefined where it is gone meanwhile.
 */
export function keptByVersion<Row extends Versioned>(
  most: number,
  find: (db: Db, id: string) => Promise<Row | undefined>,
  isFixed: (row: Row) => boolean = () => true,
) {
  const kept = new Recent<Row>(most);
  return async (db: Db, id: string, version: number): Promise<Row | undefined> => {
    const known = kept.get(id);
    if (known?.version === version) return known;
    const row = await find(db, id);
    if (row !== undefined && isFixed(row)) kept.set(id, row);
    return row;
  };
}
