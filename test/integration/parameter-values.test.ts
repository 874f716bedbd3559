// What is given to Postgres comes back as it was, whether the driver writes it or we do.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from '../../src/store/statement.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';

let given: TestDatabase;
beforeAll(async () => {
  given = await testDatabase();
});
afterAll(() => given[Symbol.asyncDispose]());

test.each([
  '0001-01-01T00:00:00.000Z',
  '1883-11-18T12:03:58.000Z',
  '1969-12-31T23:59:59.999Z',
  '2026-03-29T01:30:00.250Z',
  '2028-02-29T23:59:59.009Z',
  '9999-12-31T23:59:59.999Z',
  '+010000-01-01T00:00:00.000Z',
])('the time %s', async (text) => {
  const at = new Date(text);
  const { rows } = await sql`select ${at}::timestamptz as at`.execute(given.db.db);
  expect(rows).toEqual([{ at }]);
});

test.each([
  [[]],
  [['a.example', 'b c', '', 'null', 'NULL', '{,}', 'ä€😀', ' ', '\n']],
  [['a"b', "a'b"]],
  [['a\\b']],
  [['a', null, 'b']],
])('the texts %j', async (list) => {
  const { rows } = await sql`select ${list}::text[] as list`.execute(given.db.db);
  expect(rows).toEqual([{ list }]);
});

test('a list of bytes', async () => {
  const list = [Buffer.from([0, 1, 0xff, 0x5c, 0x22]), Buffer.alloc(0), Buffer.alloc(3_000, 7)];
  const { rows } = await sql`select unnest(${list}::bytea[]) as bytes`.execute(given.db.db);
  expect(rows).toEqual(list.map((bytes) => ({ bytes })));
});
