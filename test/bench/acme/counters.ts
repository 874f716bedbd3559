// What a database has done and how large it is, and how large the files of a server without one are.
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type BenchServer, queryOnce } from './server.ts';

export type Counters = {
  readonly commits: number;
  /** Transactions that wrote something. */
  readonly writing: number;
  /** How often the log was flushed to the disk. */
  readonly flushes: number;
};

/** Of a database's statistics, which its connections report with a delay of seconds. */
export async function countersOf({ database }: BenchServer): Promise<Counters | undefined> {
  if (database === undefined) return undefined;
  const [version] = await queryOnce(database.url, `select current_setting('server_version_num')::int as number`);
  const flushes =
    Number(version?.number) < 180_000
      ? 'select wal_sync from pg_stat_wal'
      : `select sum(fsyncs) from pg_stat_io where object = 'wal'`;
  const [row] = await queryOnce(
    database.url,
    `select (select xact_commit from pg_stat_database where datname = current_database()) as commits,
            pg_snapshot_xmax(pg_current_snapshot())::text as writing, (${flushes}) as flushes`,
  );
  return { commits: Number(row?.commits), writing: Number(row?.writing), flushes: Number(row?.flushes) };
}

/** What was done from one moment to another. */
export const between = (before: Counters | undefined, after: Counters | undefined): Counters | undefined =>
  before &&
  after && {
    commits: after.commits - before.commits,
    writing: after.writing - before.writing,
    flushes: after.flushes - before.flushes,
  };

/** Spent nonces are forgotten after two hours. */
const DISK_BYTES = `select pg_database_size(current_database())
                         - coalesce(pg_total_relation_size(to_regclass('spent_nonces')), 0) as bytes`;

/** Undefined for what is kept in memory. */
export async function diskBytes({ database, dataFolder }: BenchServer): Promise<number | undefined> {
  if (dataFolder !== undefined) return folderBytes(dataFolder);
  if (database === undefined) return undefined;
  await queryOnce(database.url, 'vacuum (analyze)');
  const [row] = await queryOnce(database.url, DISK_BYTES);
  return Number(row?.bytes);
}

/** What is used of them: badger makes its files large beforehand. */
async function folderBytes(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  const sizes = await Promise.all(names.map(async (name) => (await lstat(join(folder, name))).blocks * 512));
  return sizes.reduce((total, size) => total + size, 0);
}
