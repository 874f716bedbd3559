// Migrations: once, in order, by one process at a time, never backwards. Each test has an empty schema of its own.
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, type DatabaseOptions, openDatabase } from '../../src/store/database.ts';
import { DatabaseUnavailable } from '../../src/store/database-error.ts';
import { migrate, SchemaTooNew, schemaStatus } from '../../src/store/migrate.ts';
import { migrations } from '../../src/store/migrations/index.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';

let shared: TestDatabase;
let schemas = 0;

beforeAll(async () => {
  shared = await testDatabase();
});
afterAll(() => shared[Symbol.asyncDispose]());

const names = migrations.map(({ name }) => name);
const future = { name: '9999-future', sql: 'create table future (id integer)' };

/** Opens databases whose tables all lie in a new, empty schema. */
async function emptySchema() {
  const schema = `empty_${schemas++}`;
  await sql`create schema ${sql.id(schema)}`.execute(shared.db.db);
  const url = new URL(shared.url);
  url.searchParams.set('options', `-c search_path=${schema}`);
  return (limits: Omit<DatabaseOptions, 'url'> = {}) => openDatabase({ url: url.href, ...limits });
}

async function count(database: Database, table: string): Promise<number> {
  const { rows } = await sql<{ count: string }>`select count(*) from ${sql.table(table)}`.execute(database.db);
  return Number(rows[0]?.count);
}

test('an empty database gets every migration, and a second run finds nothing to do', async () => {
  await using database = await (await emptySchema())();
  expect(await migrate(database.db)).toEqual(names);
  expect(await migrate(database.db)).toEqual([]);
});

test('the status names what the database has, what the program knows and what is missing', async () => {
  await using database = await (await emptySchema())();
  const [first, ...rest] = migrations;
  expect(await schemaStatus(database.db)).toEqual({
    current: undefined,
    expected: names.at(-1),
    pending: names,
    tooNew: false,
  });
  await migrate(database.db, first ? [first] : []);
  expect(await schemaStatus(database.db)).toMatchObject({
    current: first?.name,
    pending: rest.map(({ name }) => name),
  });
  await migrate(database.db);
  expect(await schemaStatus(database.db)).toMatchObject({ current: names.at(-1), pending: [] });
});

test('eight processes that start at once apply each migration once', async () => {
  const open = await emptySchema();
  const counting = [
    ...migrations,
    { name: '0998-count', sql: 'create table runs (n integer); insert into runs values (1);' },
    { name: '0999-count', sql: 'insert into runs values (2);' },
  ];
  const processes = await Promise.all(Array.from({ length: 8 }, () => open()));
  const applied = await Promise.all(processes.map(({ db }) => migrate(db, counting)));
  expect(applied.flat().sort()).toEqual(counting.map(({ name }) => name));
  expect(await Promise.all(processes.map((database) => count(database, 'runs')))).toEqual(Array(8).fill(2));
  await Promise.all(processes.map((database) => database.close()));
});

test('an older program refuses a newer schema, names both and says what to do', async () => {
  await using database = await (await emptySchema())();
  await migrate(database.db, [...migrations, future]);
  const refusal = await migrate(database.db).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(SchemaTooNew);
  expect(refusal).toMatchObject({ current: '9999-future', expected: names.at(-1) });
  expect(String(refusal)).toContain(
    `schema 9999-future, and this release of acmery knows schemas up to ${names.at(-1)}`,
  );
  expect(String(refusal)).toContain('Start the release that migrated the database, or a newer one');
  expect(await schemaStatus(database.db)).toMatchObject({ current: '9999-future', tooNew: true });
});

test('a migration that fails leaves nothing behind, those before it stand, and a repaired one goes on', async () => {
  await using database = await (await emptySchema())();
  const sound = { name: '0001-sound', sql: 'create table sound (id integer)' };
  const broken = { name: '0002-broken', sql: 'create table half (id integer); select 1 / 0;' };
  await expect(migrate(database.db, [sound, broken])).rejects.toThrow('Migration 0002-broken failed: division by zero');
  expect(await schemaStatus(database.db, [sound, broken])).toMatchObject({
    current: '0001-sound',
    pending: ['0002-broken'],
  });
  await expect(count(database, 'half')).rejects.toThrow('"half" does not exist');
  expect(await migrate(database.db, [sound, { ...broken, sql: 'create table half (id integer)' }])).toEqual([
    '0002-broken',
  ]);
});

test('an index is built concurrently while three more processes wait for their turn', async () => {
  const open = await emptySchema();
  const known = [
    { name: '0001-table', sql: 'create table wide (id integer); insert into wide select generate_series(1, 1000);' },
    {
      name: '0002-index',
      sql: '-- no transaction\ndrop index concurrently if exists wide_id_idx;\ncreate index concurrently wide_id_idx\n  on wide (id);\n',
    },
  ];
  const processes = await Promise.all(Array.from({ length: 4 }, () => open()));
  const applied = await Promise.all(processes.map(({ db }) => migrate(db, known)));
  expect(applied.flat()).toEqual(['0001-table', '0002-index']);
  const [database] = processes;
  const index = await sql<{ indisvalid: boolean }>`
    select indisvalid from pg_index where indexrelid = 'wide_id_idx'::regclass`.execute(database?.db ?? shared.db.db);
  expect(index.rows).toEqual([{ indisvalid: true }]);
  await Promise.all(processes.map((each) => each.close()));
});

test('a stop ends the wait for another process that migrates', async () => {
  const open = await emptySchema();
  await using first = open();
  const stopping = new AbortController();
  const locked = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const held = first.db.connection().execute(async (connection) => {
    await sql`select pg_advisory_lock(6022140857)`.execute(connection);
    locked.resolve();
    await stopped.promise;
    await sql`select pg_advisory_unlock(6022140857)`.execute(connection);
  });
  await using second = open();
  await locked.promise;

  const migrating = migrate(second.db, migrations, stopping.signal);
  stopping.abort();

  await expect(migrating.finally(stopped.resolve)).rejects.toThrow('aborted');
  await held;
});

test('a migration whose connection dies is no failure of the migration, and leaves no lock behind', async () => {
  await using database = await (await emptySchema())();
  const dying = {
    name: '0001-dying',
    sql: 'create table half (id integer); select pg_terminate_backend(pg_backend_pid());',
  };
  await expect(migrate(database.db, [dying])).rejects.toBeInstanceOf(DatabaseUnavailable);
  expect(await migrate(database.db, [{ ...dying, sql: 'create table half (id integer)' }])).toEqual(['0001-dying']);
});

test('one connection is enough, and it comes back with its own lock limit', async () => {
  await using database = await (await emptySchema())({ maxConnections: 1, lockTimeoutMs: 7_000 });
  await migrate(database.db);
  const { rows } = await sql`show lock_timeout`.execute(database.db);
  expect(rows).toEqual([{ lock_timeout: '7s' }]);
});
