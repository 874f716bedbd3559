// Look-ups that come while others are under way go together in the next statement: one round trip for many callers, and
// never an old answer, since a statement begins after everybody whom it answers has asked.
import { type RawBuilder, sql } from 'kysely';
import type { Db } from './database.ts';

/** What one statement reads: the values of those keys that it found. */
type Load<Value> = (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>;

type Batch<Value> = PromiseWithResolvers<ReadonlyMap<string, Value>> & { readonly keys: Set<string> };

/** One statement alone would leave the connection idle while its answer is handed out. */
const MAX_UNDER_WAY = 2;

export function gathered<Value>(load: Load<Value>): (key: string) => Promise<Value | undefined> {
  let next: Batch<Value> | undefined;
  let underWay = 0;

  const begin = (): void => {
    if (next === undefined || underWay === MAX_UNDER_WAY) return;
    const batch = next;
    next = undefined;
    underWay++;
    load([...batch.keys])
      .then(batch.resolve, batch.reject)
      .finally(() => {
        underWay--;
        begin();
      });
  };

  return async (key) => {
    next ??= { ...Promise.withResolvers(), keys: new Set() };
    next.keys.add(key);
    const { promise } = next;
    begin();
    return (await promise).get(key);
  };
}

/** The same for reads of a database: those of one handle go together, and those of a transaction stay alone. */
export function gatheredReads<Value>(
  load: (db: Db, keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
): (db: Db, key: string) => Promise<Value | undefined> {
  const asks = new WeakMap<Db, (key: string) => Promise<Value | undefined>>();
  return (db, key) => {
    const ask = asks.get(db) ?? gathered((keys) => load(db, keys));
    asks.set(db, ask);
    return ask(key);
  };
}

/** Reads of rows by their id. */
export const gatheredRows = <Row extends { readonly id: string }>(
  load: (db: Db, ids: RawBuilder<string>) => Promise<readonly Row[]>,
): ((db: Db, id: string) => Promise<Row | undefined>) =>
  gatheredReads(async (db, ids) => {
    const rows = await load(db, sql<string>`any(${ids}::uuid[])`);
    return new Map(rows.map((row) => [row.id, row]));
  });
