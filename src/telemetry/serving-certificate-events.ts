// Events of the certificate of our own HTTPS: a part of events.ts.
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

export const servingCertificateEvents = (log: Log, metrics: Metrics) => ({
  servingCertificateMade(event: { readonly names: readonly string[]; readonly notAfter: Date }): void {
    metrics.servingCertificates.add({ outcome: 'made' });
    metrics.servingCertificateEnd.set({}, event.notAfter.getTime() / 1000);
    log.info(event, 'serving certificate made');
  },
  servingCertificateRotated(event: { readonly source: string; readonly notAfter: Date }): void {
    metrics.servingCertificates.add({ outcome: 'rotated' });
    metrics.servingCertificateEnd.set({}, event.notAfter.getTime() / 1000);
    log.info(event, 'serving certificate rotated; new connections get it');
  },
  servingCertificateRefused(event: { readonly reason: string; readonly keptUntil: Date }): void {
    metrics.servingCertificates.add({ outcome: 'refused' });
    log.error(event, 'new serving certificate refused; the last good one stays in use');
  },
});
