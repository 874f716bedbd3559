// Events of CRLs and of the ends of CA certs: a part of events.ts.
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

type CrlDates = { readonly signingCert: string; readonly thisUpdate: Date; readonly nextUpdate: Date };

type CrlPublished = CrlDates & {
  /** Decimal digits. */
  readonly number: string;
  readonly entries: number;
  readonly bytes: number;
  readonly durationMs: number;
};

export const crlEvents = (log: Log, metrics: Metrics) => {
  const setAge = ({ signingCert: signing_cert, thisUpdate, nextUpdate }: CrlDates): void => {
    metrics.crlThisUpdate.set({ signing_cert }, thisUpdate.getTime() / 1000);
    metrics.crlNextUpdate.set({ signing_cert }, nextUpdate.getTime() / 1000);
  };
  return {
    /** An intermediate, by its parent. */
    signingCertRevoked(event: { readonly id: string; readonly name: string; readonly reason: string }): void {
      metrics.signingCerts.add({ change: 'revoked' });
      log.info(event, 'CA cert revoked');
    },
    crlPublished(event: CrlPublished): void {
      metrics.crlBuilds.add({ outcome: 'published' });
      metrics.crlBuildSeconds.observe({}, event.durationMs / 1000);
      setAge(event);
      log.info(event, 'CRL published');
    },
    /** Made elsewhere, for an offline CA. */
    crlUploaded(event: Omit<CrlPublished, 'bytes' | 'durationMs'>): void {
      setAge(event);
      log.info(event, 'CRL uploaded');
    },
    /** The last one stays in place. */
    crlFailed(event: { readonly signingCert: string; readonly error: unknown }): void {
      metrics.crlBuilds.add({ outcome: 'failed' });
      log.error(event, 'a CRL could not be built; the last one stays until it can');
    },
    /** Of all CA certs that may issue. */
    signingCertEnds(all: readonly { readonly signingCert: string; readonly notAfter: Date }[]): void {
      metrics.signingCertEnd.clear();
      for (const { signingCert: signing_cert, notAfter } of all) {
        metrics.signingCertEnd.set({ signing_cert }, notAfter.getTime() / 1000);
      }
    },
    /** Those of all CA certs that there are, whichever replica built them. */
    crlsLookedAt(all: readonly CrlDates[]): void {
      metrics.crlThisUpdate.clear();
      metrics.crlNextUpdate.clear();
      for (const dates of all) setAge(dates);
    },
  };
};
