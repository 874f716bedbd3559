// A race that always comes out the same: work that reads a row before, and wants to write it after, somebody else's change.
import { sql } from 'kysely';
import type { Database } from '../../src/store/database.ts';
import { waitingQueries } from './waiting.ts';

/** Runs `work` against a row that is being changed, and lets the change be committed once `work` waits for its lock. */
export async function duringChange<Result>(
  { db }: Database,
  table: string,
  id: string,
  work: () => Promise<Result>,
): Promise<Result> {
  let result: Promise<Result> | undefined;
  await db.transaction().execute(async (tx) => {
    await sql`update ${sql.table(table)} set version = version + 1 where id = ${id}`.execute(tx);
    result = work();
    await waitingQueries(db, 1);
  });
  if (result === undefined) throw new Error('the work was not begun');
  return result;
}
