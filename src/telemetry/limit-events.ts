// Events of what keeps the service within its bounds: limits that are reached, and sweeps.
import type { Log } from './log.ts';
import type { housekeepingKinds, Metrics } from './metrics.ts';

export type LimitReached = {
  readonly limit: 'requests' | 'accounts' | 'orders' | 'failures';
  readonly who: string;
  /** Somebody who was told so before, and again asks at once. */
  readonly isRepeated: boolean;
};

export const limitEvents = (log: Log, metrics: Metrics) => ({
  limitReached({ isRepeated, ...event }: LimitReached): void {
    metrics.limitHits.add({ limit: event.limit });
    if (!isRepeated) log.info(event, 'limit reached');
  },
  /** A sweep is over, or stopped with the process. */
  swept(event: { readonly what: (typeof housekeepingKinds)[number]; readonly count: number }): void {
    metrics.housekeeping.add({ what: event.what }, event.count);
    if (event.count > 0) log.info(event, 'swept');
  },
});
