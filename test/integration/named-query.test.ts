// Statements with values: Postgres tells the columns of each once per connection.
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { Db } from '../../src/store/database.ts';
import { namedClient } from '../../src/store/named-client.ts';
import { testDatabase } from '../support/database.ts';

const numbered = (db: Db, upTo: number) =>
  sql`select n, 'row ' || n as a_name_of_a_column, null::text as nothing, '2026-01-02T03:04:05Z'::timestamptz as at
        from generate_series(1, ${upTo}::bigint) as n`
    .execute(db)
    .then(({ rows }) => rows);

test('rows come as they are declared, whether their columns were told with them or before', async () => {
  await using test = await testDatabase({ maxConnections: 1 });
  const { db } = test.db;
  const at = new Date('2026-01-02T03:04:05Z');
  const row = (n: number) => ({ n, a_name_of_a_column: `row ${n}`, nothing: null, at });

  expect(await numbered(db, 2)).toEqual([row(1), row(2)]);
  expect(await numbered(db, 3)).toEqual([row(1), row(2), row(3)]);
  expect(await numbered(db, 0)).toEqual([]);
});

test('a statement that was refused is told its columns when it succeeds', async () => {
  await using test = await testDatabase({ maxConnections: 1 });
  const { db } = test.db;
  const inverse = (of: number) =>
    sql<{ quotient: number }>`select 6 / ${of}::int as quotient`.execute(db).then(({ rows }) => rows);

  await expect(inverse(0)).rejects.toThrow();
  expect(await inverse(2)).toEqual([{ quotient: 3 }]);
  await expect(inverse(0)).rejects.toThrow();
  expect(await inverse(3)).toEqual([{ quotient: 2 }]);
});

test('a value that cannot be read fails its statement alone, each time', async () => {
  await using test = await testDatabase({ maxConnections: 1 });
  const { db } = test.db;
  const large = (text: string) => sql`select ${text}::bigint as n`.execute(db).then(({ rows }) => rows);

  for (const _ of [1, 2]) {
    await expect(large('9007199254740993')).rejects.toThrow(RangeError);
    expect(await large('7')).toEqual([{ n: 7 }]);
  }
});

test('a statement without rows says how many it changed', async () => {
  await using test = await testDatabase({ maxConnections: 1 });
  const { db } = test.db;
  await sql`create table things (n int)`.execute(db);
  const put = (upTo: number) => sql`insert into things select generate_series(1, ${upTo}::int)`.execute(db);

  expect((await put(2)).numAffectedRows).toBe(2n);
  expect((await put(3)).numAffectedRows).toBe(3n);
});

test('columns are told once, also to statements that are under way at once', async () => {
  await using test = await testDatabase();
  const Client = namedClient(() => false, false);
  const client = new Client({ connectionString: test.url, pipeline: true });
  await client.connect();
  let told = 0;
  client.connection.on('rowDescription', () => told++);
  const answers = (numbers: readonly number[]) =>
    Promise.all(numbers.map(async (n) => (await client.query('select $1::int as n', [n])).rows));

  expect(await answers([1, 2])).toEqual([[{ n: 1 }], [{ n: 2 }]]);
  const before = told;
  expect(await answers([3, 4, 5])).toEqual([[{ n: 3 }], [{ n: 4 }], [{ n: 5 }]]);

  expect([before, told]).toEqual([2, 2]);
  await client.end();
});
