// Events of orders, authorizations and challenges: a part of events.ts.
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

type AuthorizationFacts = {
  readonly id: string;
  readonly account: string;
  readonly directory: string;
  readonly requestId: string;
};

export type ChallengeTried = {
  readonly id: string;
  readonly type: string;
  readonly identifier: string;
  readonly outcome: 'valid' | 'retried' | 'invalid' | 'postponed' | 'dropped';
  /** Why it failed, in the words that the client reads. */
  readonly problem?: string | undefined;
  readonly durationMs: number;
};

export const validationEvents = (log: Log, metrics: Metrics) => ({
  orderCreated(event: {
    readonly id: string;
    readonly account: string;
    readonly directory: string;
    readonly state: 'pending' | 'ready';
    readonly identifiers: number;
    readonly requestId: string;
  }): void {
    metrics.ordersCreated.add({ state: event.state });
    log.info(event, 'order created');
  },
  /** In advance: no order asked for it. */
  authorizationCreated(event: AuthorizationFacts): void {
    metrics.authorizations.add({ change: 'created' });
    log.info(event, 'authorization created in advance');
  },
  authorizationDeactivated(event: AuthorizationFacts & { readonly endedOrders: number }): void {
    metrics.authorizations.add({ change: 'deactivated' });
    log.info(event, 'authorization deactivated');
  },
  /** One try; `dropped`: somebody else has settled it meanwhile. */
  challengeTried({ durationMs, ...event }: ChallengeTried): void {
    const { type, outcome } = event;
    metrics.validations.add({ type, outcome });
    metrics.validationSeconds.observe({ type }, durationMs / 1000);
    const level = outcome === 'postponed' ? 'debug' : 'info';
    log[level]({ ...event, durationMs: Math.round(durationMs * 10) / 10 }, 'challenge tried');
  },
});
