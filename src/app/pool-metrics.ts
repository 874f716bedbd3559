// The connections to the database, as the metrics show them at the moment when they are read.
import type { Database } from '../store/database.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export function readPool(metrics: Metrics, database: Database): void {
  metrics.databasePool.from(() => {
    const { size, inUse } = database.pool;
    return [
      [{ state: 'in_use' }, inUse],
      [{ state: 'idle' }, size - inUse],
    ];
  });
  metrics.databasePoolLimit.from(() => [[{}, database.pool.limit]]);
  metrics.databasePoolWaiting.from(() => [[{}, database.pool.waiting]]);
  metrics.databaseShared.from(() => [
    [{ connection: 'reads' }, database.shared.reads.count],
    [{ connection: 'writes' }, database.shared.writes.count],
  ]);
  metrics.databaseSharedOldest.from(() => [
    [{ connection: 'reads' }, database.shared.reads.oldestMs / 1_000],
    [{ connection: 'writes' }, database.shared.writes.oldestMs / 1_000],
  ]);
}
