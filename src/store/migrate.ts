// Brings the schema up to date: forward only, one process at a time, each migration in a transaction of its own.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { type Migration as KyselyMigration, Migrator } from 'kysely/migration';
import type { Db } from './database.ts';
import { DatabaseUnavailable } from './database-error.ts';
import { type Migration, migrations } from './migrations/index.ts';

export type SchemaStatus = {
  /** The newest migration that the database has; undefined for an empty one. */
  readonly current: string | undefined;
  /** The newest migration that this program knows. */
  readonly expected: string | undefined;
  readonly pending: readonly string[];
  readonly tooNew: boolean;
};

/** The database was migrated by a newer release; this one would misread it. */
export class SchemaTooNew extends Error {
  readonly current: string;
  readonly expected: string;

  constructor(current: string, expected: string) {
    super(
      `The database has schema ${current}, and this release of acmery knows schemas up to ${expected}. ` +
        'Start the release that migrated the database, or a newer one; to go back, restore the backup made before the upgrade.',
    );
    this.name = 'SchemaTooNew';
    this.current = current;
    this.expected = expected;
  }
}

/** The database lacks migrations of this release, which a command does not apply in passing. */
export class SchemaOutdated extends Error {
  constructor(pending: number) {
    super(
      `The database lacks ${pending} ${pending === 1 ? 'migration' : 'migrations'} of this release: ` +
        'start `acmery serve` or run `acmery migrate` first.',
    );
    this.name = 'SchemaOutdated';
  }
}

const TABLE = 'acmery_migrations';
const LOCK = 6_022_140_857; // any number that nobody else in this database locks
const LOCK_RETRY_MS = 100;

/**
 * Applies what is pending and returns its names. Any number of processes may call it at once. `db` is one without a
 * limit on the time of a statement. Throws SchemaTooNew, and DatabaseUnavailable for what may succeed later.
 */
export async function migrate(
  db: Db,
  known: readonly Migration[] = migrations,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  if ((await acceptedStatus(db, known)).pending.length === 0) return [];
  return db.connection().execute(async (connection) => {
    await takeLock(connection, signal);
    try {
      const { pending } = await acceptedStatus(connection, known);
      for (const name of pending) await applyNext(connection, known, name);
      await release(connection);
      return pending;
    } catch (error) {
      await release(connection).catch(() => {}); // a dead connection has released it, and the first error says more
      throw error;
    }
  });
}

/** Reads only: for readiness and `doctor`. */
export async function schemaStatus(db: Db, known: readonly Migration[] = migrations): Promise<SchemaStatus> {
  const applied = await appliedNames(db);
  const current = applied.at(-1);
  return {
    current,
    expected: known.at(-1)?.name,
    pending: known.map(({ name }) => name).filter((name) => !applied.includes(name)),
    tooNew: applied.some((name) => known.every((migration) => migration.name < name)),
  };
}

/** For what works only with the schema of this release. Throws SchemaOutdated and SchemaTooNew. */
export async function requireSchema(db: Db): Promise<void> {
  const { pending } = await acceptedStatus(db, migrations);
  if (pending.length > 0) throw new SchemaOutdated(pending.length);
}

async function acceptedStatus(db: Db, known: readonly Migration[]): Promise<SchemaStatus> {
  const status = await schemaStatus(db, known);
  if (status.tooNew) throw new SchemaTooNew(status.current ?? 'unknown', status.expected ?? 'none');
  return status;
}

async function appliedNames(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ present: boolean }>`select to_regclass(${TABLE}) is not null as present`.execute(db);
  if (!rows[0]?.present) return [];
  const applied = await sql<{ name: string }>`select name from ${sql.table(TABLE)}`.execute(db);
  return applied.rows.map(({ name }) => name).sort();
}

// Kysely's own lock is taken inside this one and never waited for: `create index concurrently` waits for every running
// statement, so a process that waits for a lock inside a statement would deadlock with the one that builds the index.
async function takeLock(connection: Db, signal: AbortSignal | undefined): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ taken: boolean }>`select pg_try_advisory_lock(${LOCK}) as taken`.execute(connection);
    if (rows[0]?.taken) return;
    await sleep(LOCK_RETRY_MS, undefined, { ...(signal && { signal }) });
  }
}

async function release(connection: Db): Promise<void> {
  await sql`reset lock_timeout`.execute(connection);
  await sql`select pg_advisory_unlock(${LOCK})`.execute(connection);
}

async function applyNext(connection: Db, known: readonly Migration[], name: string): Promise<void> {
  const disableTransactions = known.some((migration) => migration.name === name && !isTransactional(migration));
  // A table lock that does not come soon is given up, since all who want the table queue behind it; an index built
  // concurrently blocks nobody and may wait.
  await sql`select set_config('lock_timeout', ${disableTransactions ? '0' : '10s'}, false)`.execute(connection);
  const failures: unknown[] = [];
  const migrator = await migratorFor(connection, known, (error) => failures.push(error));
  const result = await migrator.migrateUp({ disableTransactions });
  const [error = result.error] = failures;
  if (error instanceof DatabaseUnavailable) throw error; // a lock that did not come, too: worth another try
  if (error !== undefined) throw new Error(`Migration ${name} failed: ${messageOf(error)}`, { cause: error });
}

/** Kysely may report that it could not roll back on a dead connection, and not why it had to; `onFailure` hears that. */
async function migratorFor(
  connection: Db,
  known: readonly Migration[],
  onFailure: (error: unknown) => void,
): Promise<Migrator> {
  // Kysely looks for its table in all schemas; two installations may share a database by search_path.
  const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(connection);
  const steps = known.map((migration): [string, KyselyMigration] => [
    migration.name,
    {
      up: (db) =>
        apply(db, migration).catch((error: unknown) => {
          onFailure(error);
          throw error;
        }),
    },
  ]);
  return new Migrator({
    db: connection,
    provider: { getMigrations: async () => Object.fromEntries(steps) },
    migrationTableName: TABLE,
    migrationLockTableName: `${TABLE}_lock`,
    ...(rows[0] && { migrationTableSchema: rows[0].schema }),
    nameComparator: (a, b) => (a < b ? -1 : 1),
  });
}

async function apply(db: Db, migration: Migration): Promise<void> {
  for (const statement of statementsOf(migration)) await sql.raw(statement).execute(db);
}

/** A whole file is one call; without a transaction its statements (each ends a line with `;`) have to go one by one. */
const statementsOf = (migration: Migration): readonly string[] =>
  isTransactional(migration) ? [migration.sql] : migration.sql.split(/(?<=;)\n/).filter((text) => text.includes(';'));

/** `create index concurrently` refuses a transaction; such a file must be repeatable, as a crash may leave half of it. */
const isTransactional = (migration: Migration): boolean => !migration.sql.startsWith('-- no transaction\n');

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
