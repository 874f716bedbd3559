// Lists walk their indexes: a page touches about as many rows as it holds.
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listAcmeKeyRows } from '../../src/store/acme-keys.ts';
import { listAuditRows } from '../../src/store/audit-events.ts';
import type { Db } from '../../src/store/database.ts';
import { listExternalBindingRows } from '../../src/store/external-bindings.ts';
import type { PageRequest } from '../../src/store/keyset.ts';
import { testDatabase } from '../support/database.ts';
import { seedLists } from '../support/listed-rows.ts';
import { exampleRows, insertRows } from '../support/rows.ts';

const LIMIT = 10;
const rows = exampleRows();
const directoryId = rows.directories.id;
const objectId = rows.acme_keys.id;
const actor = 'worker';

let database: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => {
  database = await testDatabase();
  await insertRows(database.db.db, rows);
  await seedLists(database.db.db, rows);
});
afterAll(() => database[Symbol.asyncDispose]());

type Page = PageRequest<'id' | 'name'>;
const byIdOrName = {
  'tokens of a directory': (db: Db, page: Page) => listExternalBindingRows(db, { directoryId }, page),
  'unused tokens': (db: Db, page: Page) => listExternalBindingRows(db, { directoryId, acmeKeyId: null }, page),
  'account keys of a directory': (db: Db, page: Page) => listAcmeKeyRows(db, { directoryId }, page),
  'valid account keys': (db: Db, page: Page) => listAcmeKeyRows(db, { directoryId, state: 'valid' }, page),
};
const byId = {
  'changes of an object': (db: Db, page: Page) => listAuditRows(db, { objectId }, page),
  'changes by an actor': (db: Db, page: Page) => listAuditRows(db, { actor }, page),
  'changes of an object by an actor': (db: Db, page: Page) => listAuditRows(db, { objectId, actor }, page),
};
const directions = ['asc', 'desc'] as const;
const cases = [
  ...Object.entries(byIdOrName).flatMap(([what, list]) => [[what, 'id', list] as const, [what, 'name', list] as const]),
  ...Object.entries(byId).map(([what, list]) => [what, 'id', list] as const),
].flatMap(([what, sort, list]) => directions.map((direction) => [what, sort, direction, list] as const));

test.each(cases)('%s by %s, %s', async (_what, sort, direction, list) => {
  const page: Page = { limit: LIMIT, sort, direction };
  const first = await list(database.db.db, page);
  const after = first?.rows.at(-1)?.id;
  expect(first).toMatchObject({ hasMore: true, rows: { length: LIMIT } });
  for (const request of [page, { ...page, ...(after !== undefined && { after }) }])
    expect(await rowsTouched((tx) => list(tx, request))).toBeLessThanOrEqual(3 * LIMIT);
});

test('the token of an account key is found by its own index', async () => {
  const token = await database.db.db
    .selectFrom('external_bindings')
    .select('acme_key_id')
    .where('acme_key_id', 'is not', null)
    .executeTakeFirstOrThrow();
  const page: Page = { limit: LIMIT, sort: 'name', direction: 'asc' };
  const filter = { acmeKeyId: token.acme_key_id };
  expect(await rowsTouched((tx) => listExternalBindingRows(tx, filter, page))).toBe(1);
});

/** Rows of the listed tables that the statement read, by whatever plan the connections of lists would make. */
async function rowsTouched(work: (tx: Db) => Promise<unknown>): Promise<number> {
  return database.db.db.transaction().execute(async (tx) => {
    await sql`set local plan_cache_mode = auto`.execute(tx);
    const before = await count(tx);
    await work(tx);
    return (await count(tx)) - before;
  });
}

async function count(tx: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as count from pg_stat_xact_user_tables
     where relname in ('external_bindings', 'acme_keys', 'audit_default')`.execute(tx);
  return rows[0]?.count ?? Number.NaN;
}
