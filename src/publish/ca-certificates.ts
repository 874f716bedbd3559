// /ca: the certificate of a CA where AIA says that it is, and its chain as PKCS#7 and PEM.
import { parseId } from '../core/ids.ts';
import { type CaFileFormat, findCaFile } from '../core/published-certificates.ts';
import { fileReply } from './file.ts';
import type { PublishRoute } from './route.ts';

const mediaTypes: Readonly<Record<CaFileFormat, string>> = {
  crt: 'application/pkix-cert',
  p7c: 'application/pkcs7-mime; smime-type=certs-only',
  pem: 'application/pem-certificate-chain',
};

/** They do not change: caches keep them as long as anything here. */
const UNCHANGED_MS = 86_400_000;

const fileRoute = (format: CaFileFormat): PublishRoute => ({
  method: 'GET',
  path: `/ca/:id.${format}`,
  async handle(ca, request) {
    const id = parseId('scrt', request.params.id ?? '');
    const file = id && (await findCaFile(ca, id, format));
    if (!file) return undefined;
    const now = ca.clock.now();
    const { contents, tag, notBefore: lastModified } = file;
    const endsAt = new Date(now.getTime() + UNCHANGED_MS);
    const read = async () => contents;
    return fileReply({ mediaType: mediaTypes[format], tag, lastModified, endsAt, read }, request, now);
  },
});

export const caCertificateRoutes: readonly PublishRoute[] = [fileRoute('crt'), fileRoute('p7c'), fileRoute('pem')];
