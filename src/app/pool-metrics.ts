// The pool of connections, as the metrics show it at the moment when they are read.
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
}
