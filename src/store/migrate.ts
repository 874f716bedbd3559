// Brings the schema up to date: forward only, one process at a time, each migration in a transaction of its own.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { type Migration as KyselyMigration, Migrator } from 'kysely/migration';
import type { Db } from './database.ts';
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

const TABLE = 'acmery_migrations';
const LOCK = 6_022_140_857; // any number that nobody else in this database locks
const LOCK_RETRY_MS = 100;

/**
 * Applies what is pending and returns its names. Any number of processes may call it at once. `db` is one without a
 * limit on the time of a statement. Throws SchemaTooNew.
 */
export async function migrate(db: Db, known: readonly Migration[] = migrations): Promise<readonly string[]> {
  if ((await acceptedStatus(db, known)).pending.length === 0) return [];
  return db.connection().execute(async (connection) => {
    await takeLock(connection);
    try {
      const { pending } = await acceptedStatus(connection, known);
      const migrator = await migratorFor(connection, known);
      for (const name of pending) await applyNext(connection, migrator, known, name);
      return pending;
    } finally {
      await sql`reset lock_timeout`.execute(connection);
      await sql`select pg_advisory_unlock(${LOCK})`.execute(connection);
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
async function takeLock(connection: Db): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ taken: boolean }>`select pg_try_advisory_lock(${LOCK}) as taken`.execute(connection);
    if (rows[0]?.taken) return;
    await sleep(LOCK_RETRY_MS);
  }
}

async function migratorFor(connection: Db, known: readonly Migration[]): Promise<Migrator> {
  // Kysely looks for its table in all schemas; two installations may share a database by search_path.
  const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(connection);
  return new Migrator({
    db: connection,
    provider: {
      getMigrations: async () => Object.fromEntries(known.map((migration) => [migration.name, up(migration)])),
    },
    migrationTableName: TABLE,
    migrationLockTableName: `${TABLE}_lock`,
    ...(rows[0] && { migrationTableSchema: rows[0].schema }),
    nameComparator: (a, b) => (a < b ? -1 : 1),
  });
}

const up = (migration: Migration): KyselyMigration => ({
  up: async (db) => {
    for (const statement of statementsOf(migration)) await sql.raw(statement).execute(db);
  },
});

/** A whole file is one call; without a transaction its statements (each ends a line with `;`) have to go one by one. */
const statementsOf = (migration: Migration): readonly string[] =>
  isTransactional(migration) ? [migration.sql] : migration.sql.split(/(?<=;)\n/).filter((text) => text.includes(';'));

/** `create index concurrently` refuses a transaction; such a file must be repeatable, as a crash may leave half of it. */
const isTransactional = (migration: Migration): boolean => !migration.sql.startsWith('-- no transaction\n');

async function applyNext(connection: Db, migrator: Migrator, known: readonly Migration[], name: string): Promise<void> {
  const disableTransactions = known.some((migration) => migration.name === name && !isTransactional(migration));
  // A table lock that does not come soon is given up, since all who want the table queue behind it; an index built
  // concurrently blocks nobody and may wait.
  await sql`select set_config('lock_timeout', ${disableTransactions ? '0' : '10s'}, false)`.execute(connection);
  const { error } = await migrator.migrateUp({ disableTransactions });
  if (error !== undefined) throw new Error(`Migration ${name} failed: ${messageOf(error)}`, { cause: error });
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
