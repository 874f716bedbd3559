// `acmery serve`: runs until SIGINT or SIGTERM, then lets requests under way finish.
import { type App, startApp } from '../app.ts';
import type { Settings } from '../config/settings.ts';
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
    if (logFormatOf(settings) === 'text') console.log(whatNext(app, settings));
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

function whatNext({ acmeUrl, apiUrl, opsUrl, httpUrl, anchorsFile }: App, { dataDir }: Settings): string {
  const [acme, api] = [atLocalhost(acmeUrl), atLocalhost(apiUrl)];
  const trust = anchorsFile === undefined ? '' : ` --cacert ${anchorsFile}`;
  const dataFlag = dataDir === '.acmery' ? '' : ` --data-dir ${dataDir}`;
  return `
Acmery is ready. Ctrl-C stops it; the next start finds everything again in ${dataDir}.

  ACME         ${acme}/acme/<slug>/directory   (of a directory that /v1 makes)
  management   ${api}/v1   (documentation: ${api}/v1/docs)
  publication  ${atLocalhost(httpUrl)}   (CRLs, OCSP and CA certificates)
  operations   ${opsUrl}/readyz  ${opsUrl}/metrics${anchorsFile === undefined ? '' : `\n  trust        ${anchorsFile}`}

Make an API token in another terminal and use it:

  TOKEN=$(npm run -s acmery -- token create --name me --permission admin${dataFlag})
  curl${trust} -H "Authorization: Bearer $TOKEN" ${api}/v1/signing_certs
`;
}

const atLocalhost = (url: string): string => url.replace(/127\.0\.0\.1|\[::1?\]|0\.0\.0\.0/, 'localhost');
