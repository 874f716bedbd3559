// Events of the status page: who signs in, never with what.
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

type SignedIn = {
  readonly kind: string;
  /** As audit records name callers. */
  readonly name: string;
  readonly permission: string;
  readonly client: string;
  readonly requestId: string;
  readonly forMs: number;
};

export const uiEvents = (log: Log, metrics: Metrics) => ({
  uiSignedIn(event: SignedIn): void {
    metrics.uiSignIns.add({ outcome: 'accepted' });
    log.info(event, 'signed in to the status page');
  },
  uiSignInRefused(event: { readonly client: string; readonly requestId: string; readonly status: number }): void {
    metrics.uiSignIns.add({ outcome: 'refused' });
    log.info(event, 'sign-in to the status page refused');
  },
});
