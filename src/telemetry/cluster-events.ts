// Events of the API server of a cluster: a part of events.ts.
import type { Log } from './log.ts';
import { httpMethods, type Metrics } from './metrics.ts';

type WatchFailed = {
  readonly resource: string;
  /** How many in a row, silences not counted. */
  readonly attempt: number;
  readonly reason: string;
  readonly retryInMs: number;
  /** Nothing is wrong where the resource is not there. */
  readonly isExpected: boolean;
};

export const clusterEvents = (log: Log, metrics: Metrics) => ({
  /** `code` is `<error>` where no answer came, as client-go has it. */
  clusterAnswered(event: {
    readonly host: string;
    readonly method: string;
    readonly code: string;
    readonly durationMs: number;
  }): void {
    const method = httpMethods.find((known) => known === event.method) ?? 'other';
    const { host, code } = event;
    metrics.clusterRequests.add({ host, method, code });
    metrics.clusterRequestSeconds.observe({ host, verb: method }, event.durationMs / 1000);
  },
  watchSynced(event: { readonly resource: string; readonly objects: number; readonly durationMs: number }): void {
    metrics.reflectorLists.add({ name: event.resource });
    log.info({ ...event, durationMs: Math.round(event.durationMs) }, 'watch synced');
  },
  watchStarted(event: { readonly resource: string }): void {
    metrics.reflectorWatches.add({ name: event.resource });
  },
  /** It goes on, from where it was or with all objects anew. */
  watchFailed({ isExpected, ...event }: WatchFailed): void {
    metrics.watchFailures.add({ resource: event.resource });
    // One interruption is an everyday thing.
    log[isExpected || event.attempt <= 1 ? 'debug' : 'warn'](event, 'watch interrupted; it is tried again');
  },

  /** We may not review tokens. */
  apiTokensOnly(): void {
    log.info(
      {},
      '/v1 takes API tokens only: tokens of ServiceAccounts need the ClusterRole system:auth-delegator (rbac.clusterRoles=true in the chart)',
    );
  },

  leadershipTaken(event: { readonly lease: string; readonly identity: string }): void {
    metrics.leader.set({ name: event.lease }, 1);
    log.info(event, 'leading');
  },
  leadershipStandby(event: { readonly lease: string }): void {
    metrics.leader.set({ name: event.lease }, 0);
  },
  leadershipEnded(event: { readonly lease: string; readonly why: 'released' | 'lost' }): void {
    metrics.leader.set({ name: event.lease }, 0);
    log[event.why === 'lost' ? 'error' : 'info'](event, 'no longer leading');
  },
  /** It is tried again. */
  leaseFailed(event: { readonly lease: string; readonly reason: string }): void {
    log.warn(event, 'the lease could not be read or written');
  },

  objectEventDropped(event: { readonly reason: string; readonly why: string }): void {
    metrics.objectEventsDropped.add({});
    log.debug(event, 'event for a custom resource dropped');
  },

  issuerInjected(event: { readonly issuer: string }): void {
    metrics.issuerInjections.add({ outcome: 'done' });
    log.info(event, 'trust injected into an Issuer of cert-manager');
  },
  /** It no longer asks for it. */
  issuerReleased(event: { readonly issuer: string }): void {
    metrics.issuerInjections.add({ outcome: 'done' });
    log.info(event, 'trust taken back from an Issuer of cert-manager');
  },
  issuerInjectionFailed(event: { readonly issuer: string; readonly reason: string }): void {
    metrics.issuerInjections.add({ outcome: 'failed' });
    log.warn(event, 'trust could not be injected into an Issuer of cert-manager');
  },

  callerReviewed(event: { readonly outcome: 'known' | 'unknown' | 'unavailable' }): void {
    metrics.tokenReviews.add(event);
  },
  callerReviewUnavailable(event: { readonly reason: string }): void {
    log.warn(event, 'tokens of the cluster cannot be checked now');
  },
});
