// The certificate of our own HTTPS: of the serving CA, or the operator's own files.
import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import type { Ca } from '../core/ca.ts';
import { keepServingCertificate } from '../core/serving-certificate.ts';
import { publicHostName } from '../core/urls.ts';
import { openTlsFiles } from '../http/tls-files.ts';
import { TlsSlot, type TlsSource } from '../http/tls-source.ts';
import { writeAnchors } from '../keys/anchors-file.ts';

const HOUR_MS = 3_600_000;
const TLS_FILES_INTERVAL_MS = 10_000;

export type Every = (intervalMs: number, name: string, task: () => Promise<unknown>) => void;

export type ServingTls = {
  readonly tls: TlsSource;
  /** Where the anchors lie; undefined where the operator's certificate is served. */
  readonly anchorsFile: string | undefined;
  /** The same as PEM. */
  readonly anchors: () => string | undefined;
};

export async function servingTls(
  settings: Settings,
  ca: Ca,
  scope: AsyncDisposableStack,
  every: Every,
): Promise<ServingTls> {
  const { tlsCertFile, tlsKeyFile, dataDir } = settings;
  const { events, clock } = ca;
  if (tlsCertFile !== undefined && tlsKeyFile !== undefined) {
    const files = await openTlsFiles({
      certificateFile: tlsCertFile,
      keyFile: tlsKeyFile,
      intervalMs: TLS_FILES_INTERVAL_MS,
      now: () => clock.now(),
      events,
    });
    scope.use(files);
    return { tls: files.source, anchorsFile: undefined, anchors: () => undefined };
  }
  const anchorsFile = join(dataDir, 'tls', 'ca.crt');
  let tls: TlsSlot | undefined;
  let anchors: string | undefined;
  const names = settings.tlsNames ?? [...new Set([publicHostName(settings.publicUrl), 'localhost'])];
  const renew = await keepServingCertificate(ca, names, async (pair) => {
    await writeAnchors(anchorsFile, pair.anchors);
    anchors = pair.anchors;
    if (tls !== undefined) events.servingCertificateRotated({ source: 'serving CA', notAfter: pair.notAfter });
    tls?.replace(pair);
    tls ??= new TlsSlot(pair);
  });
  every(HOUR_MS, 'serving certificate', renew);
  if (tls === undefined) throw new Error('the serving certificate was not handed over');
  return { tls, anchorsFile, anchors: () => anchors };
}
