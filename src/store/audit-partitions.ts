// The monthly partitions of the audit log.
import { sql } from 'kysely';
import { recordedAt } from './audit.ts';
import type { Db, Tx } from './database.ts';
import { firstId } from './first-id.ts';

type Month = { readonly partition: string; readonly from: string; readonly until: string };

const PARENT = 'audit';
const DEFAULT = 'audit_default';
const MONTHS_AHEAD = 2;
const LOCK = 6_022_140_858; // one maker of partitions at a time

/**
 * Makes the partitions of this month and the next two, and one for each month whose records had to go to the default
 * partition. Returns the names of those that were missing. Throws DatabaseUnavailable rather than keep writers waiting:
 * call it again later.
 */
export async function ensureAuditPartitions(db: Db, now: Date): Promise<readonly string[]> {
  const made: string[] = [];
  for (let ahead = 0; ahead <= MONTHS_AHEAD; ahead++) {
    const month = monthOf(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead));
    if (await makePartition(db, month, ahead === 0)) made.push(month.partition);
  }
  for (let stray = await oldestStray(db); stray !== undefined; stray = await oldestStray(db)) {
    const month = monthOf(recordedAt(stray).getTime());
    if (!(await makePartition(db, month, true))) break; // another process is at it
    made.push(month.partition);
  }
  return made;
}

/** Drops the partitions whose every record is older than the cutoff, and returns their names. May throw as above. */
export async function dropAuditPartitionsBefore(db: Db, cutoff: Date): Promise<readonly string[]> {
  const first = monthOf(cutoff.getTime()).from;
  const { rows } = await sql<{ partition: string; until: string }>`
    select c.relname as partition, substring(pg_get_expr(c.relpartbound, c.oid) from 'TO .''(.*)''') as until
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = ${PARENT}::regclass and c.relname <> ${DEFAULT}
     order by c.relname`.execute(db);
  const old = rows.filter(({ until }) => until <= first).map(({ partition }) => partition);
  for (const partition of old) {
    await alone(db, (tx) => sql`drop table if exists ${sql.table(partition)}`.execute(tx));
  }
  return old;
}

// A table made apart and attached takes no lock that an insert into another partition waits for; `create table ...
// partition of` would. Where records of that very month may just be on their way to the default partition, they have to
// wait at the door: one that had chosen the default would be refused by it after this.
const makePartition = (db: Db, { partition, from, until }: Month, mayBeWritten: boolean): Promise<boolean> =>
  alone(db, async (tx) => {
    if (await exists(tx, partition)) return false;
    if (mayBeWritten) await sql`lock table ${sql.table(PARENT)} in access exclusive mode`.execute(tx);
    const bounds = sql`for values from (${sql.lit(from)}) to (${sql.lit(until)})`;
    const [month, parent, rest] = [sql.table(partition), sql.table(PARENT), sql.table(DEFAULT)];
    await sql`create table ${month} (like ${parent} including defaults including constraints)`.execute(tx);
    const strays = await sql`select from ${rest} where id >= ${from} and id < ${until} limit 1`.execute(tx);
    if (strays.rows.length > 0) {
      // Detached, it has left the append-only trigger behind.
      await sql`alter table ${parent} detach partition ${rest}`.execute(tx);
      await sql`
        with moved as (delete from ${rest} where id >= ${from} and id < ${until} returning *)
        insert into ${month} select * from moved`.execute(tx);
      await sql`alter table ${parent} attach partition ${rest} default`.execute(tx);
    }
    await sql`alter table ${parent} attach partition ${month} ${bounds}`.execute(tx);
    return true;
  });

const alone = <Result>(db: Db, work: (tx: Tx) => Promise<Result>): Promise<Result> =>
  db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${LOCK}), set_config('lock_timeout', '2s', true)`.execute(tx);
    return work(tx);
  });

async function exists(db: Db, table: string): Promise<boolean> {
  const { rows } = await sql<{ present: boolean }>`select to_regclass(${table}) is not null as present`.execute(db);
  return rows[0]?.present ?? false;
}

async function oldestStray(db: Db): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(DEFAULT)} order by id limit 1`.execute(db);
  return rows[0]?.id;
}

function monthOf(time: number): Month {
  const date = new Date(time);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return {
    partition: `${PARENT}_${year}_${String(month + 1).padStart(2, '0')}`,
    from: firstId(Date.UTC(year, month)),
    until: firstId(Date.UTC(year, month + 1)),
  };
}
