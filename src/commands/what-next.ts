// What `serve` tells a person once it is ready: where everything is, and lines to paste.
import type { App } from '../app/app.ts';
import { type BoundClient, boundClient } from '../app/bound-client.ts';
import type { Settings } from '../config/settings.ts';
import { newestDirectoryUrls } from '../core/directories.ts';
import { directoryUrl } from '../core/urls.ts';

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
    ...(api === undefined ? [] : [['management', `${api}/v1   (documentation: ${api}/v1/docs)`]]),
    ...(doors === undefined
      ? []
      : [['publication', `${atLocalhost(doors.http.url)}   (CRLs, OCSP and CA certificates)`]]),
    ['operations', `${opsUrl}/readyz  ${opsUrl}/metrics`],
    ...(anchorsFile === undefined ? [] : [['trust', `${anchorsFile}   (of ACME and management)`]]),
    ...(manifests === undefined ? [] : [['manifests', `${manifests}   (a change there counts within a second)`]]),
    ...(outputsFolder === undefined ? [] : [['outputs', `${outputsFolder}   (EAB pairs, trust files)`]]),
  ];
  return `
Acmery is ready. Ctrl-C stops it; the next start finds everything again in ${dataDir}.

${places.map(([what = '', where]) => `  ${what.padEnd(12)} ${where}`).join('\n')}
${api === undefined ? '' : managementLines(api, { dataDir, anchorsFile })}
${clientLines(bound, directoryUrls[0], anchorsFile)}
`;
}

type Trust = { readonly anchorsFile: string | undefined };

const managementLines = (api: string, { dataDir, anchorsFile }: Trust & { readonly dataDir: string }): string => `
Make an API token in another terminal and use it:

  TOKEN=$(npm run -s acmery -- token create --name me --permission admin${dataDir === '.acmery' ? '' : ` --data-dir ${dataDir}`})
  curl ${trusting('--cacert ', anchorsFile)}-H "Authorization: Bearer $TOKEN" ${api}/v1/signing_certs
`;

function clientLines(bound: BoundClient | undefined, directory: string | undefined, anchorsFile: string | undefined) {
  const server = bound?.directoryUrl ?? directory;
  if (server === undefined) return 'From here to a first certificate: "A first certificate" in README.md.';
  const kid = bound === undefined ? 'KID' : `$(cat ${bound.place}/kid)`;
  const hmac = bound === undefined ? 'HMAC' : `$(cat ${bound.place}/secret)`;
  const where =
    bound === undefined
      ? 'Get a certificate; KID and HMAC are "id" and "mac_key" of a new EAB token (POST /v1/external_bindings):'
      : bound.isAutoApproved
        ? 'Get a certificate; the EAB pair approves its orders at once, so that no name has to be proved:'
        : 'Get a certificate:';
  const name = bound?.isAutoApproved ? 'app.corp.example' : 'NAME';
  return `${where}

  ${trusting('REQUESTS_CA_BUNDLE=', anchorsFile)}certbot certonly --standalone --agree-tos -m you@corp.example \\
    --server ${server} --eab-kid ${kid} --eab-hmac-key ${hmac} -d ${name}
  ${trusting('LEGO_CA_CERTIFICATES=', anchorsFile)}lego run --http --accept-tos -m you@corp.example \\
    --server ${server} --eab --eab.kid ${kid} --eab.hmac ${hmac} -d ${name}`;
}

const trusting = (option: string, anchorsFile: string | undefined): string =>
  anchorsFile === undefined ? '' : `${option}${anchorsFile} `;

const atLocalhost = (url: string): string => url.replace(/127\.0\.0\.1|\[::1?\]|0\.0\.0\.0/, 'localhost');
