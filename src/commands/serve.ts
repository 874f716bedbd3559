// `acmery serve`: runs until SIGINT or SIGTERM, then lets requests under way finish.
import { type App, startApp } from '../app.ts';
import type { Settings } from '../config/settings.ts';
import { logFormatOf, logOf } from './log.ts';

export async function serve(settings: Settings): Promise<number> {
  const log = logOf(settings);
  const stopping = new AbortController();
  // Once: a second signal finds no handler of ours and ends the process at once.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort(signal));
  const stopped = new Promise((resolve) => stopping.signal.addEventListener('abort', resolve));
  try {
    const app = await startApp(settings, log, stopping.signal);
    if (logFormatOf(settings) === 'text') console.log(whatNext(app, settings));
    await stopped;
    await app.stop(String(stopping.signal.reason));
  } catch (error) {
    // Stopped while it was still waiting for the database: an end as good as any.
    if (!stopping.signal.aborted) throw error;
  }
  return 0;
}

function whatNext({ apiUrl, opsUrl, anchorsFile }: App, { dataDir }: Settings): string {
  const api = apiUrl.replace(/127\.0\.0\.1|\[::1?\]|0\.0\.0\.0/, 'localhost');
  const trust = anchorsFile === undefined ? '' : ` --cacert ${anchorsFile}`;
  const dataFlag = dataDir === '.acmery' ? '' : ` --data-dir ${dataDir}`;
  return `
Acmery is ready. Ctrl-C stops it; the next start finds everything again in ${dataDir}.

  management   ${api}/v1   (documentation: ${api}/v1/docs)
  operations   ${opsUrl}/readyz  ${opsUrl}/metrics${anchorsFile === undefined ? '' : `\n  trust        ${anchorsFile}`}

Make an API token in another terminal and use it:

  TOKEN=$(npm run -s acmery -- token create --name me --permission admin${dataFlag})
  curl${trust} -H "Authorization: Bearer $TOKEN" ${api}/v1/signing_certs
`;
}
