// A race that always comes out the same: work that reads a row before, and wants to write it after, somebody else's change.
import { sql } from 'kysely';
import type { Database } from '../../src/store/database.ts';
import { eventually } from './eventually.ts';

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
    await eventually('the work waits for the lock', async () => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
      return rows.length > 0;
    });
  });
  if (result === undefined) throw new Error('the work was not begun');
  return result;
}
