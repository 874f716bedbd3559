// What `serve` tells a person once it is ready: where everything is, and lines to paste.
import { join } from 'node:path';
import type { App } from '../app/app.ts';
import { type BoundClient, boundClient } from '../app/bound-client.ts';
import type { Settings } from '../config/settings.ts';
import { newestDirectoryUrls } from '../core/directories.ts';
import { directoryUrl } from '../core/urls.ts';
import { startedBy } from '../program.ts';

const DIRECTORIES_TOLD = 5;

export async function whatNext(app: App, settings: Settings): Promise<string> {
  const { ca, doors, opsUrl, anchorsFile } = app;
  const { outputsFolder } = app.world;
  const { dataDir, manifests } = settings;
  const directoryUrls = await newestDirectoryUrls(ca, DIRECTORIES_TOLD);
  const bound = boundClient(app);
  const acme = directoryUrls.length > 0 ? directoryUrls : [`${directoryUrl(settings, '<slug>')}   (no directory yet)`];
  const api = doors && atLocalhost(doors.api.url);
  const places = [
    ...(doors === undefined ? [] : acme.map((url, index) => [index === 0 ? 'ACME' : '', url])),
    ...(bound === undefined || bound.isUsed
      ? []
      : [['EAB pair', `${join(bound.place, 'kid')}  ${join(bound.place, 'secret')}`]]),
    ...(anchorsFile === undefined ? [] : [['trust', `${anchorsFile}   (anchor of the HTTPS of ACME and /v1)`]]),
    ...(api === undefined
      ? []
      : [
          ['/v1', `${api}/v1   (documentation: ${api}/v1/docs)`],
          ['to look at', `${api}/ui   (with the token of below)`],
        ]),
    ...(doors === undefined
      ? []
      : [['publication', `${atLocalhost(doors.http.url)}   (CRLs, OCSP and CA certificates)`]]),
    ['operations', `${opsUrl}/readyz  ${opsUrl}/metrics`],
    ...(manifests === undefined ? [] : [['manifests', `${manifests}   (a change there counts within a second)`]]),
    ...(outputsFolder === undefined ? [] : [['outputs', `${outputsFolder}   (EAB pairs, roots, account keys)`]]),
  ];
  return `
Acmery is ready. Ctrl-C stops it; the next start finds everything again in ${dataDir}.

${places.map(([what = '', where]) => `  ${what.padEnd(12)} ${where}`).join('\n')}

${clientLines(bound, directoryUrls[0], { anchorsFile, manifests })}
${api === undefined ? '' : managementLines(api, { dataDir, anchorsFile })}`;
}

type Trust = { readonly anchorsFile: string | undefined };

const managementLines = (api: string, { dataDir, anchorsFile }: Trust & { readonly dataDir: string }): string => `
Call /v1, from another terminal in this folder, with an API token:

  TOKEN=$(${startedBy} token create --name me --permission admin${dataDir === '.acmery' ? '' : ` --data-dir ${dataDir}`})
  curl ${trusting('--cacert ', anchorsFile)}-H "Authorization: Bearer $TOKEN" ${api}/v1/directories
`;

type Around = Trust & { readonly manifests: string | undefined };

function clientLines(
  bound: BoundClient | undefined,
  directory: string | undefined,
  { anchorsFile, manifests }: Around,
): string {
  const server = bound?.directoryUrl ?? directory;
  if (server === undefined) return 'From here to a first certificate: "The same through /v1" in README.md.';
  const { kid, hmac, name, how } = bound === undefined || bound.isUsed ? noPair(bound, manifests) : pairOf(bound);
  return `${how}

  ${trusting('REQUESTS_CA_BUNDLE=', anchorsFile)}certbot certonly --non-interactive --agree-tos -m me@corp.example \\
    --server ${server} \\
    --eab-kid ${kid} --eab-hmac-key ${hmac} \\
    --standalone -d ${name} --config-dir ~/acme --work-dir ~/acme --logs-dir ~/acme

  ${trusting('LEGO_CA_CERTIFICATES=', anchorsFile)}lego run --accept-tos -m me@corp.example \\
    --server ${server} \\
    --eab --eab.kid ${kid} --eab.hmac ${hmac} \\
    --http -d ${name} --path ~/acme`;
}

type Pair = { readonly kid: string; readonly hmac: string; readonly name: string; readonly how: string };

const pairOf = ({ place, isAutoApproved, name }: BoundClient): Pair => ({
  kid: `"$(cat ${join(place, 'kid')})"`,
  hmac: `"$(cat ${join(place, 'secret')})"`,
  name,
  how: isAutoApproved
    ? `Get a certificate, by one of the two, from another terminal in this folder: an EAB pair makes one account.\nThis one's orders are approved at once, so that nothing has to answer at ${name}:`
    : 'Get a certificate, by one of the two, from another terminal in this folder: an EAB pair makes one account:',
});

const noPair = (used: BoundClient | undefined, manifests: string | undefined): Pair => ({
  kid: 'KID',
  hmac: 'HMAC',
  name: used?.name ?? 'NAME',
  how:
    used === undefined
      ? 'Get a certificate. KID and HMAC are "id" and "mac_key" of a new EAB token (POST /v1/external_bindings):'
      : `Get a certificate. All EAB pairs are used; declare another ExternalBinding in ${manifests}, which gives KID and HMAC:`,
});

const trusting = (option: string, anchorsFile: string | undefined): string =>
  anchorsFile === undefined ? '' : `${option}${anchorsFile} `;

const atLocalhost = (url: string): string => url.replace(/127\.0\.0\.1|\[::1?\]|0\.0\.0\.0/, 'localhost');
