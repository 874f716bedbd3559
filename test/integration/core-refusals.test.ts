// Errors of the database as refusals: the table speaks of constraints that are there, and of all that users can hit.
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CaError } from '../../src/core/errors.ts';
import { constraintRefusals, refusalOf } from '../../src/core/refusals.ts';
import { DatabaseError, DatabaseUnavailable } from '../../src/store/database-error.ts';
import { testDatabase } from '../support/database.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

test('every constraint in the table exists', async () => {
  const { rows } = await sql<{ name: string }>`
    select indexrelid::regclass::text as name from pg_index where indisunique
     union all select tgname from pg_trigger`.execute(database.db.db);
  expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(constraintRefusals)));
});

test('a broken constraint is a refusal that names the field', async () => {
  const { db } = database.db;
  const insert = sql`
    insert into used_keys (thumbprint, why, since) values ('\\x01', 'account', now())`;
  await insert.execute(db);
  const error = await insert.execute(db).catch((thrown: unknown) => thrown);
  expect(refusalOf(error)).toMatchObject({
    kind: 'key_reused',
    problems: [{ field: 'public_key', code: 'key_reused' }],
  });
});

test('a constraint that only a bug can break is no refusal', async () => {
  const error = await sql`insert into used_keys (thumbprint, why, since) values ('\\x02', 'whim', now())`
    .execute(database.db.db)
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Error);
  expect(refusalOf(error)).toBeUndefined();
});

test('transactions that keep failing each other make the answer unavailable', () => {
  for (const code of ['40001', '40P01']) {
    const error = new DatabaseError('deadlock detected', {
      code,
      constraint: undefined,
      table: undefined,
      column: undefined,
    });
    expect(refusalOf(error)?.kind).toBe('unavailable');
  }
});

test('a database that is away makes the answer unavailable, and a refusal stays what it is', () => {
  const refusal = new CaError('in_use', 'It is in use.');
  expect(refusalOf(new DatabaseUnavailable('gone'))?.kind).toBe('unavailable');
  expect(refusalOf(refusal)).toBe(refusal);
  expect(refusalOf(new TypeError('a bug'))).toBeUndefined();
});
