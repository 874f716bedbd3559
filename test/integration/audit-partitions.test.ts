// The audit log by months: partitions ahead, records that had none, and the dropping of old ones.
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { newUuid } from '../../src/core/ids.ts';
import { appendAudit } from '../../src/store/audit.ts';
import { dropAuditPartitionsBefore, ensureAuditPartitions } from '../../src/store/audit-partitions.ts';
import type { Db } from '../../src/store/database.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

let database: TestDatabase;
let db: Db;
beforeEach(async () => {
  database = await testDatabase();
  db = database.db.db;
});
afterEach(() => database[Symbol.asyncDispose]());

const may = new Date('2026-05-17T12:00:00.000Z');

async function append(at: Date, on: Db = db): Promise<string> {
  const id = newUuid(at);
  await appendAudit(on, {
    id,
    actorKind: 'command',
    actor: 'migrate',
    action: 'schema.migrated',
    objectKind: 'schema',
  });
  return id;
}

/** Where each record lies. */
async function places(): Promise<Readonly<Record<string, string>>> {
  const { rows } = await sql<{ id: string; partition: string }>`
    select id, tableoid::regclass::text as partition from audit`.execute(db);
  return Object.fromEntries(rows.map(({ id, partition }) => [id, partition]));
}

test('a record keeps all that was said', async () => {
  const record = {
    id: newUuid(may),
    actorKind: 'api_token',
    actor: 'atok_1',
    action: 'directory.updated',
    objectKind: 'directory',
    objectId: newUuid(may),
    requestId: 'r-1',
    detail: { before: { cert_max_days: 97 }, after: { cert_max_days: 30 } },
  } as const;
  await appendAudit(db, record);
  expect(await db.selectFrom('audit').select(['actor_kind', 'object_id', 'request_id', 'detail']).execute()).toEqual([
    { actor_kind: 'api_token', object_id: record.objectId, request_id: 'r-1', detail: record.detail },
  ]);
});

test('this month and the next two have partitions, also across the end of a year', async () => {
  const names = ['audit_2026_11', 'audit_2026_12', 'audit_2027_01'];
  expect(await ensureAuditPartitions(db, new Date('2026-11-30T23:59:59.999Z'))).toEqual(names);
  expect(await ensureAuditPartitions(db, new Date('2026-11-30T23:59:59.999Z'))).toEqual([]);
});

test('a record lies in the partition of its month, to the millisecond', async () => {
  await ensureAuditPartitions(db, may);
  const last = await append(new Date('2026-05-31T23:59:59.999Z'));
  const first = await append(new Date('2026-06-01T00:00:00.000Z'));
  expect(await places()).toEqual({ [last]: 'audit_2026_05', [first]: 'audit_2026_06' });
});

test('a record is never refused: without a partition it waits in the default one and moves when its month is made', async () => {
  const [early, current, far] = [
    await append(new Date('2026-02-03T00:00:00.000Z')),
    await append(may),
    await append(new Date('2031-01-01T00:00:00.000Z')),
  ];
  expect(await places()).toEqual({ [early]: 'audit_default', [current]: 'audit_default', [far]: 'audit_default' });
  const made = await ensureAuditPartitions(db, may);
  expect(made).toEqual(['audit_2026_05', 'audit_2026_06', 'audit_2026_07', 'audit_2026_02', 'audit_2031_01']);
  expect(await places()).toEqual({ [early]: 'audit_2026_02', [current]: 'audit_2026_05', [far]: 'audit_2031_01' });
});

test('records are append only in every partition, one that gave up its strays included', async () => {
  await append(may);
  await ensureAuditPartitions(db, may);
  await append(may);
  await append(new Date('2040-01-01T00:00:00.000Z'));
  const refusal = { constraint: 'audit_append_only' };
  for (const table of ['audit_2026_05', 'audit_default']) {
    await expect(sql`delete from ${sql.table(table)}`.execute(db)).rejects.toMatchObject(refusal);
    await expect(sql`update ${sql.table(table)} set actor = 'me'`.execute(db)).rejects.toMatchObject(refusal);
  }
});

test('processes that make partitions at once make each once, while records go on being written', async () => {
  const made = Promise.all(Array.from({ length: 6 }, () => ensureAuditPartitions(db, may)));
  const written = await Promise.all(Array.from({ length: 60 }, () => append(may)));
  expect((await made).flat().sort()).toEqual(['audit_2026_05', 'audit_2026_06', 'audit_2026_07']);
  await ensureAuditPartitions(db, may);
  expect(Object.keys(await places()).sort()).toEqual(written.sort());
});

test('a partition that has to wait for a reader keeps nobody from writing', async () => {
  await ensureAuditPartitions(db, may);
  const reader = await db.startTransaction().execute();
  await sql`select count(*) from audit`.execute(reader);
  const made = ensureAuditPartitions(db, new Date('2026-06-01T00:00:00.000Z'));
  await eventually('the maker of the partition waits', async () => {
    const { rows } = await sql`select from pg_locks where relation::regclass::text ~ '^audit' and not granted`.execute(
      db,
    );
    return rows.length > 0;
  });
  await db.transaction().execute(async (tx) => {
    await sql`set local lock_timeout = '200ms'`.execute(tx);
    await append(may, tx);
  });
  await reader.rollback().execute();
  expect(await made).toEqual(['audit_2026_08']);
});

test('only months that have wholly passed are dropped', async () => {
  await ensureAuditPartitions(db, new Date('2026-01-01T00:00:00.000Z'));
  await ensureAuditPartitions(db, may);
  await append(new Date('2026-02-27T00:00:00.000Z'));
  const kept = await append(new Date('2026-03-01T00:00:00.000Z'));
  const cutoff = new Date('2026-03-31T00:00:00.000Z');
  expect(await dropAuditPartitionsBefore(db, cutoff)).toEqual(['audit_2026_01', 'audit_2026_02']);
  expect(await places()).toEqual({ [kept]: 'audit_2026_03' });
  expect(await dropAuditPartitionsBefore(db, cutoff)).toEqual([]);
});
