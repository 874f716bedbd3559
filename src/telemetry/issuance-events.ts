// What happens while certificates are issued: a part of events.ts.
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

type CertificateIssued = {
  readonly id: string;
  readonly order: string;
  readonly account: string;
  readonly serial: string;
  /** How many. */
  readonly names: number;
  readonly profile: string;
  readonly keyType: string;
  readonly notAfter: Date;
  readonly durationMs: number;
  /** Undefined where a worker did it. */
  readonly requestId?: string;
};

type Request = {
  readonly order?: string;
  readonly account: string;
  readonly directory: string;
  readonly requestId: string;
};

export const issuanceEvents = (log: Log, metrics: Metrics) => ({
  certificateIssued({ durationMs, ...event }: CertificateIssued): void {
    const { profile, keyType } = event;
    metrics.certsIssued.add({ profile, key_type: keyType });
    metrics.issuanceSeconds.observe({ profile }, durationMs / 1000);
    log.info({ ...event, durationMs: Math.round(durationMs * 10) / 10 }, 'certificate issued');
  },
  /** The client is told why. */
  issuanceRefused(event: Request & { readonly reason: string }): void {
    metrics.issuanceFailures.add({ reason: event.reason });
    log.info(event, 'finalize refused');
  },
  /** The bytes that were to be signed are not what was decided: a bug. Nothing was signed. */
  lintFailed(event: Request & { readonly rule: string; readonly profile: string }): void {
    metrics.lintFailures.add({ rule: event.rule });
    log.error(event, 'a certificate breaks the rules for leaves and was not signed');
  },
  /** The client is told only that it is so. */
  keysUnavailable(event: { readonly error: unknown; readonly requestId: string }): void {
    log.error(event, 'keys cannot be used, which an ACME client needs');
  },
  /** A worker goes on with it. */
  issuanceDelayed(event: { readonly order: string; readonly error: unknown }): void {
    metrics.issuanceDelays.add({});
    log.warn(event, 'a certificate could not be signed at once; a worker goes on');
  },
  /** After it was reserved. */
  issuanceFailed(event: { readonly order: string; readonly reason: string; readonly detail: string }): void {
    metrics.issuanceFailures.add({ reason: event.reason });
    log.warn(event, 'an order in work ended without a certificate');
  },
  orderReleased(event: { readonly order: string }): void {
    metrics.ordersReleased.add({});
    log.warn(event, 'the key of the CA is gone and nothing was signed; the order is ready again');
  },
});
