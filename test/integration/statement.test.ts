// Statements of the store's own tag: the same on every kind of handle.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Db } from '../../src/store/database.ts';
import { DatabaseError, DatabaseUnavailable } from '../../src/store/database-error.ts';
import { gatheredOn, gatheredRows } from '../../src/store/gathered.ts';
import { sql } from '../../src/store/statement.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';

let given: TestDatabase;
beforeAll(async () => {
  given = await testDatabase({ maxConnections: 2 });
  await sql`create table things (n int primary key)`.execute(given.db.db);
});
afterAll(() => given[Symbol.asyncDispose]());

/** The connection that is shared by many. */
const shared = gatheredOn<(db: Db) => Promise<unknown>, unknown>(async (db, [work]) => {
  const result = await work?.(db);
  return () => result;
});

type Work = (db: Db) => Promise<unknown>;
const handles: Readonly<Record<string, (work: Work) => Promise<unknown>>> = {
  'the pool': (work) => work(given.db.db),
  'a transaction': (work) => given.db.inTransaction(work),
  'a session': (work) => given.db.db.connection().execute(work),
  'the shared connection': (work) => shared(given.db.db, work),
};

describe.each(Object.entries(handles))('on %s', (_name, on) => {
  test('a statement says how many rows it has changed, where it changes any', async () => {
    await on((db) => sql`delete from things`.execute(db));
    expect(await on((db) => sql`insert into things select generate_series(1, ${3}::int)`.execute(db))).toEqual({
      rows: [],
      numAffectedRows: 3n,
    });
    expect(await on((db) => sql`update things set n = n where n > ${3}`.execute(db))).toMatchObject({
      numAffectedRows: 0n,
    });
    expect(await on((db) => sql`select n from things where n < ${3} order by n`.execute(db))).toEqual({
      rows: [{ n: 1 }, { n: 2 }],
    });
  });

  test('a refused statement is an error of the database, and the next one is answered', async () => {
    await on((db) => sql`delete from things`.execute(db));
    const twice = on((db) => sql`insert into things values (${7}), (${7})`.execute(db));
    await expect(twice).rejects.toMatchObject({ name: 'DatabaseError', code: '23505', constraint: 'things_pkey' });
    expect(await on((db) => sql`select count(*)::int as count from things`.execute(db))).toEqual({
      rows: [{ count: 0 }],
    });
  });
});

test('a read of rows by their id is built once for a handle, and answers for each id', async () => {
  const [one, two, unknown] = [
    '00000000-0000-0000-0000-000000000001',
    '00000000-0000-0000-0000-000000000002',
    '00000000-0000-0000-0000-000000000003',
  ] as const;
  let built = 0;
  const find = gatheredRows<{ readonly id: string }>((_db, ids) => {
    built++;
    return sql`select id from unnest(${[one, two]}::uuid[]) as row (id) where id = ${ids}`;
  });
  const { db } = given.db;

  expect(await find(db, one)).toEqual({ id: one });
  expect(await Promise.all([two, unknown].map((id) => find(db, id)))).toEqual([{ id: two }, undefined]);
  expect(built).toBe(1);
});

test('every connection is given back, also after a refusal', async () => {
  const refused = () => sql`select 1 / ${0}::int`.execute(given.db.db);
  for (const _ of [1, 2, 3]) await expect(refused()).rejects.toThrow(DatabaseError);
  expect(given.db.pool.inUse).toBe(0);
});

test('after the end the database is not available', async () => {
  await using test = await testDatabase();
  await test.db.close();
  await expect(sql`select 1`.execute(test.db.db)).rejects.toThrow(DatabaseUnavailable);
});
