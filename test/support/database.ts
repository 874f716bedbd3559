// A database of its own for a test: a clone of the migrated one, gone with the test.
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { inject } from 'vitest';
import { type Database, type DatabaseOptions, openDatabase } from '../../src/store/database.ts';
import { databaseUrl } from './postgres.ts';

export type TestDatabase = AsyncDisposable & {
  readonly db: Database;
  readonly url: string;
};

/** One without tables, as a restore needs it. */
export const emptyDatabase = (): Promise<TestDatabase> => cloneOf('template0');

/** `await using { db } = ...` is not possible, so: `await using test = await testDatabase()`, then `test.db`. */
export const testDatabase = (options: Omit<DatabaseOptions, 'url'> = {}): Promise<TestDatabase> =>
  cloneOf(inject('templateDatabase'), options);

async function cloneOf(template: string, options: Omit<DatabaseOptions, 'url'> = {}): Promise<TestDatabase> {
  const name = `acmery_test_${randomBytes(6).toString('hex')}`;
  await administer(sql`create database ${sql.id(name)} template ${sql.id(template)}`);
  const url = databaseUrl(inject('postgresUrl'), name);
  const db = openDatabase({ url, ...options });
  return {
    db,
    url,
    async [Symbol.asyncDispose]() {
      await db.close();
      await administer(sql`drop database ${sql.id(name)} with (force)`);
    },
  };
}

async function administer(statement: ReturnType<typeof sql>): Promise<void> {
  await using admin = openDatabase({ url: inject('postgresUrl'), maxConnections: 1, statementTimeoutMs: 0 });
  await statement.execute(admin.db);
}
