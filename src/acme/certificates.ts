// Certificates for download: as a PEM chain with links to the other chains there are, or the leaf alone as DER
// (RFC 8555 section 7.4.2).
import { type Download, getDownload, readDownload } from '../core/certificates.ts';
import { parseId } from '../core/ids.ts';
import { acmePaths, acmeUrlOf, alternateUrl, caCertificateUrl, idPrefixOf } from '../core/urls.ts';
import {
  type AcmeReply,
  type AcmeRequest,
  type Claimed,
  type SignedRequest,
  type Signers,
  signedRoute,
} from './route.ts';

const PEM_CHAIN = 'application/pem-certificate-chain';
const DER_LEAF = 'application/pkix-cert';

const ahead = ({ ca, accountId, params }: Claimed['account']) => readDownload(ca, accountId, idIn(params));

export const certificateRoute = signedRoute({
  path: acmePaths.certificate,
  signer: 'account',
  ahead,
  handle: (request) => certificateReply(request, 0),
});

export const alternateRoute = signedRoute({
  path: acmePaths.alternate,
  signer: 'account',
  ahead,
  handle: (request) => certificateReply(request, numberOf(request.params.chain ?? '')),
});

async function certificateReply(
  request: SignedRequest & Signers['account'] & { readonly ahead: ReturnType<typeof ahead> },
  number: number | undefined,
): Promise<AcmeReply> {
  const { ca, params, accept } = request;
  const download = await getDownload(ca, request, idIn(params), number, request.ahead);
  const alternates = linksToOthers(request, download, number ?? 0);
  return prefersDer(accept ?? '')
    ? {
        status: 200,
        content: { mediaType: DER_LEAF, bytes: download.leaf },
        headers: { Link: [`<${caCertificateUrl(ca.urls, download.issuerId)}>;rel="up"`, ...alternates] },
      }
    : { status: 200, content: { mediaType: PEM_CHAIN, bytes: download.pem }, headers: { Link: alternates } };
}

const idIn = ({ id = '' }: AcmeRequest['params']): string | undefined => parseId(idPrefixOf('certificate'), id);

/** CRT-2, G-11: one header line each. */
function linksToOthers({ ca, directory }: AcmeRequest, { id, chains }: Download, number: number): readonly string[] {
  const { requestSlug: slug } = directory;
  return Array.from({ length: chains }, (_, chain) =>
    chain === 0 ? acmeUrlOf(ca.urls, slug, 'certificate', id) : alternateUrl(ca.urls, slug, id, chain),
  ).flatMap((url, chain) => (chain === number ? [] : [`<${url}>;rel="alternate"`]));
}

/** The usual chain has no number of its own. */
const numberOf = (text: string): number | undefined => (/^[1-9]\d{0,2}$/.test(text) ? Number(text) : undefined);

/** CRT-3: only who names DER, and likes nothing else better, gets it; whatever else is accepted is answered with PEM. */
function prefersDer(accept: string): boolean {
  const der = qualityOf(accept, DER_LEAF) ?? 0;
  return der > 0 && der > (qualityOf(accept, PEM_CHAIN) ?? 0);
}

/** RFC 9110 section 12.5.1; undefined for a type that is not named. */
function qualityOf(accept: string, mediaType: string): number | undefined {
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (type !== mediaType) continue;
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    return quality === undefined ? 1 : Number(quality.slice(2)) || 0;
  }
  return undefined;
}
