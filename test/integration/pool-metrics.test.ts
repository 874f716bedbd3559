// What the metrics say of the connections to the database.
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { readPool } from '../../src/app/pool-metrics.ts';
import { quickly } from '../../src/store/quick-writes.ts';
import { sql as statement } from '../../src/store/statement.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { testDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { waitingQueries } from '../support/waiting.ts';

test('connections in use, idle ones and those who wait for one are told as they are when somebody reads', async () => {
  await using test = await testDatabase({ maxConnections: 3 });
  const metrics = createMetrics();
  readPool(metrics, test.db);
  const shown = async (): Promise<readonly string[]> =>
    (await metrics.text()).split('\n').filter((line) => line.startsWith('acmery_database_pool_'));
  expect(await shown()).toContain('acmery_database_pool_connections{state="in_use"} 0');

  const held = Promise.withResolvers<void>();
  const holding = Array.from({ length: 3 }, () =>
    test.db.db.connection().execute(async (connection) => {
      await sql`select 1`.execute(connection);
      await held.promise;
    }),
  );
  const late = sql`select 1`.execute(test.db.db);
  const isFull = async (): Promise<boolean> =>
    (await shown()).includes('acmery_database_pool_connections{state="in_use"} 3');
  await eventually('three connections are held', isFull);
  expect(await shown()).toEqual([
    'acmery_database_pool_connections{state="in_use"} 3',
    'acmery_database_pool_connections{state="idle"} 0',
    'acmery_database_pool_limit 3',
    'acmery_database_pool_waiting 1',
  ]);

  held.resolve();
  await Promise.all([...holding, late]);
  expect(await shown()).toEqual(
    expect.arrayContaining([
      'acmery_database_pool_connections{state="in_use"} 0',
      'acmery_database_pool_connections{state="idle"} 3',
      'acmery_database_pool_waiting 0',
    ]),
  );
});

test('what is under way on a shared connection is told, and for how long the oldest has been', async () => {
  await using test = await testDatabase();
  const metrics = createMetrics();
  readPool(metrics, test.db);
  const shown = async (): Promise<readonly string[]> =>
    (await metrics.text()).split('\n').filter((line) => line.startsWith('acmery_database_shared_'));
  const nothing = [
    'acmery_database_shared_statements{connection="reads"} 0',
    'acmery_database_shared_statements{connection="writes"} 0',
    'acmery_database_shared_oldest_seconds{connection="reads"} 0',
    'acmery_database_shared_oldest_seconds{connection="writes"} 0',
  ];
  await sql`create table thing (id int)`.execute(test.db.db);
  expect(await shown()).toEqual(nothing);

  let writing: Promise<unknown> | undefined;
  await test.db.inTransaction(async (tx) => {
    await sql`lock table thing`.execute(tx);
    const write = () => statement`insert into thing values (${1})`.execute(quickly(test.db.db));
    writing = Promise.all([write(), write()]);
    await waitingQueries(test.db.db, 1);
    const [reads, writes, oldestRead, oldestWrite] = await shown();
    expect([reads, writes, oldestRead]).toEqual([
      nothing[0],
      'acmery_database_shared_statements{connection="writes"} 2',
      nothing[2],
    ]);
    expect(oldestWrite).toMatch(/^acmery_database_shared_oldest_seconds\{connection="writes"\} .*[1-9]/);
  });
  await writing;
  expect(await shown()).toEqual(nothing);
});
