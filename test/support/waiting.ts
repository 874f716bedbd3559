// Waits until statements of the test's database wait for a lock, so that a race is where the test wants it.
import { sql } from 'kysely';
import type { Db } from '../../src/store/database.ts';
import { eventually } from './eventually.ts';

export const waitingQueries = (db: Db, count: number): Promise<void> =>
  eventually(`${count} statements wait for a lock`, async () => {
    const { rows } = await sql<{ waiting: number }>`
      select count(*)::int as waiting from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
    return (rows[0]?.waiting ?? 0) >= count;
  });
