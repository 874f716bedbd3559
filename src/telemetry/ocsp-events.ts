// Events of OCSP: answers, which are only counted, and what signs them.
import type { Log } from './log.ts';
import type { Metrics, ocspStatuses } from './metrics.ts';

export const ocspEvents = (log: Log, metrics: Metrics) => ({
  ocspAnswered(event: { readonly status: (typeof ocspStatuses)[number] }): void {
    metrics.ocspAnswers.add(event);
  },
  ocspSigned(): void {
    metrics.ocspSignatures.add({});
  },
  /** The key store has no answer, or no key. The client is told to come back. */
  ocspDelayed(event: { readonly signingCert: string; readonly error: unknown }): void {
    log.warn(event, 'an OCSP answer cannot be signed now');
  },
  ocspSignerMade(event: { readonly id: string; readonly signingCert: string; readonly notAfter: Date }): void {
    metrics.ocspSigners.add({ change: 'made' });
    log.info(event, 'key and certificate for OCSP answers made');
  },
  ocspSignerRemoved(event: { readonly id: string; readonly signingCert: string }): void {
    metrics.ocspSigners.add({ change: 'removed' });
    log.info(event, 'key for OCSP answers removed');
  },
});
