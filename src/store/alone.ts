// Work that one replica at a time does, by an advisory lock of its session.
import { sql } from 'kysely';
import type { Db } from './database.ts';

// Apart from the locks with one key that migrations and audit partitions take.
const CLASS = 602_214;

/** Runs `work` unless another session is at work of this name. False when it is. Holds a connection for that long. */
export const whileAlone = (db: Db, name: string, work: (session: Db) => Promise<void>): Promise<boolean> =>
  db.connection().execute(async (session) => {
    const lock = sql`${CLASS}::int, hashtext(${name})`;
    const { rows } = await sql<{ locked: boolean }>`select pg_try_advisory_lock(${lock}) as locked`.execute(session);
    if (rows[0]?.locked !== true) return false;
    try {
      await work(session);
    } finally {
      await sql`select pg_advisory_unlock(${lock})`.execute(session);
    }
    return true;
  });

/** Throws when the session, and with it the lock, is lost. */
export const stillAlone = async (session: Db): Promise<void> => void (await sql`select 1`.execute(session));
