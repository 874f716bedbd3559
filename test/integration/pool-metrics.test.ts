// What the metrics say of the pool of connections.
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { readPool } from '../../src/app/pool-metrics.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { testDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

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
