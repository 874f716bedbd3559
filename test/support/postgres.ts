// Vitest global setup: one Postgres server per run with one migrated database, from which each test file clones its own.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { TestProject } from 'vitest/node';
import { usualPlaces } from '../../src/postgres/binaries.ts';
import { startPostgres } from '../../src/postgres/cluster.ts';
import { openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of a superuser's database on the test server. */
    readonly postgresUrl: string;
    /** Name of the migrated database. */
    readonly templateDatabase: string;
  }
}

/** Tests lose nothing that they would miss in a crash. */
const fastSettings = {
  max_connections: '200',
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  max_wal_size: '4GB',
};

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await using resources = new AsyncDisposableStack();
  const url = process.env.ACMERY_TEST_DATABASE_URL ?? (await startServer(resources));
  const template = `acmery_template_${randomBytes(4).toString('hex')}`;
  const admin = resources.use(openDatabase({ url, maxConnections: 1, statementTimeoutMs: 0 }));
  await sql`create database ${sql.id(template)}`.execute(admin.db);
  resources.defer(async () => {
    await sql`drop database ${sql.id(template)} with (force)`.execute(admin.db);
  });
  await migrateTemplate(databaseUrl(url, template));
  project.provide('postgresUrl', url);
  project.provide('templateDatabase', template);
  const running = resources.move();
  return () => running.disposeAsync();
}

/** The same server, another database. */
export function databaseUrl(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

async function migrateTemplate(url: string): Promise<void> {
  await using database = openDatabase({ url, maxConnections: 1, statementTimeoutMs: 0 });
  await migrate(database.db);
}

async function startServer(resources: AsyncDisposableStack): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'acmery-test-'));
  resources.defer(() => rm(dataDir, { recursive: true, force: true }));
  const places = await usualPlaces(process.env.PATH ?? '');
  const server = resources.use(await startPostgres({ dataDir, places, settings: fastSettings }));
  return server.url;
}
