// `acmery serve`: runs until SIGINT or SIGTERM, then lets requests under way finish.
import { setImmediate as logIsWritten } from 'node:timers/promises';
import { type App, startApp } from '../app.ts';
import type { Settings } from '../config/settings.ts';
import { directoryUrl } from '../core/urls.ts';
import { logFormatOf, logOf } from './log.ts';

const stopSignals = ['SIGINT', 'SIGTERM'] as const;
/** How long the echoes of a signal may take to come. */
const ECHO_MS = 500;

export async function serve(settings: Settings): Promise<number> {
  const stopping = stopSignal();
  const stopped = new Promise((resolve) => stopping.addEventListener('abort', resolve));
  const app = await startApp(settings, logOf(settings), stopping).catch((error: unknown) => {
    // Stopped while it was still waiting for the database: an end as good as any.
    if (stopping.aborted) return undefined;
    throw error;
  });
  if (app === undefined) return 0;
  if (!stopping.aborted) {
    if (logFormatOf(settings) === 'text') {
      // What to do next comes last, below the lines that the log has in hand.
      await logIsWritten();
      console.log(whatNext(app, settings));
    }
    await stopped;
  }
  await app.stop(String(stopping.reason));
  return 0;
}

/**
 * Aborts at the first signal. One Ctrl-C comes several times: from the terminal, and passed on by npm and by the launcher
 * of an old Node. One that comes later finds no handler of ours and ends the process at once.
 */
function stopSignal(): AbortSignal {
  const stopping = new AbortController();
  const stop = (name: NodeJS.Signals): void => {
    stopping.abort(name);
    const echoesOver = (): void => {
      for (const signal of stopSignals) process.off(signal, stop);
    };
    setTimeout(echoesOver, ECHO_MS).unref();
  };
  for (const signal of stopSignals) process.on(signal, stop);
  return stopping.signal;
}

function whatNext({ apiUrl, opsUrl, httpUrl, anchorsFile, directoryUrls }: App, settings: Settings): string {
  const { dataDir } = settings;
  const api = atLocalhost(apiUrl);
  const acme = directoryUrls.length > 0 ? directoryUrls : [`${directoryUrl(settings, '<slug>')}   (no directory yet)`];
  const places = [
    ...acme.map((url, index) => [index === 0 ? 'ACME' : '', url]),
    ['management', `${api}/v1   (documentation: ${api}/v1/docs)`],
    ['publication', `${atLocalhost(httpUrl)}   (CRLs, OCSP and CA certificates)`],
    ['operations', `${opsUrl}/readyz  ${opsUrl}/metrics`],
    ...(anchorsFile === undefined ? [] : [['trust', `${anchorsFile}   (of ACME and management)`]]),
  ];
  const trusting = (option: string): string => (anchorsFile === undefined ? '' : `${option}${anchorsFile} `);
  return `
Acmery is ready. Ctrl-C stops it; the next start finds everything again in ${dataDir}.

${places.map(([what = '', where]) => `  ${what.padEnd(12)} ${where}`).join('\n')}

Make an API token in another terminal and use it:

  TOKEN=$(npm run -s acmery -- token create --name me --permission admin${dataDir === '.acmery' ? '' : ` --data-dir ${dataDir}`})
  curl ${trusting('--cacert ')}-H "Authorization: Bearer $TOKEN" ${api}/v1/signing_certs

${clientLines(directoryUrls[0], trusting)}
`;
}

const clientLines = (server: string | undefined, trusting: (option: string) => string): string =>
  server === undefined
    ? 'From here to a first certificate: "A first certificate" in README.md.'
    : `Get a certificate; KID and HMAC are "id" and "mac_key" of a new EAB token (POST /v1/external_bindings):

  ${trusting('REQUESTS_CA_BUNDLE=')}certbot certonly --standalone --agree-tos -m you@corp.example \\
    --server ${server} --eab-kid KID --eab-hmac-key HMAC -d NAME
  ${trusting('LEGO_CA_CERTIFICATES=')}lego run --http --accept-tos -m you@corp.example \\
    --server ${server} --eab --eab.kid KID --eab.hmac HMAC -d NAME`;

const atLocalhost = (url: string): string => url.replace(/127\.0\.0\.1|\[::1?\]|0\.0\.0\.0/, 'localhost');
