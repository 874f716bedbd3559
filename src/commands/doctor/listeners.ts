// The listeners: whether their addresses are free, or held by a running Acmery.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { formatAddress, type ListenAddress, listenError } from '../../http/listen-address.ts';
import { type Finding, failed, ok, type Patient } from './finding.ts';

const ANSWER_MS = 2_000;

export async function checkListeners({ settings }: Patient): Promise<Finding> {
  const running = await runningAcmery(settings.opsListen);
  if (running !== undefined) return ok(`a running Acmery holds them (${running})`);
  const addresses = {
    ACMERY_ACME_LISTEN: settings.acmeListen,
    ACMERY_API_LISTEN: settings.apiListen,
    ACMERY_HTTP_LISTEN: settings.httpListen,
    ACMERY_OPS_LISTEN: settings.opsListen,
  };
  for (const [setting, address] of Object.entries(addresses)) {
    const problem = await problemWith(setting, address);
    if (problem !== undefined) return failed(problem.message, 'Free the address or change the setting.');
  }
  return ok(`${Object.values(addresses).map(formatAddress).join(', ')} are free`);
}

async function problemWith(setting: string, address: ListenAddress): Promise<Error | undefined> {
  const server = createServer();
  try {
    server.listen(address);
    await once(server, 'listening');
    return undefined;
  } catch (error) {
    return error instanceof Error ? listenError(setting, address, error) : new Error(String(error));
  } finally {
    server.close();
  }
}

/** What the readiness of an Acmery on this ops listener says; undefined when none answers. */
async function runningAcmery(address: ListenAddress): Promise<string | undefined> {
  try {
    const host = address.host.replace(/^(0\.0\.0\.0|::)$/, '127.0.0.1');
    const url = `http://${formatAddress({ ...address, host })}/readyz?verbose`;
    const reply = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });
    const text = await reply.text();
    return /readyz check (passed|failed)/.test(text) ? (text.trim().split('\n').at(-1) ?? '') : undefined;
  } catch {
    return undefined;
  }
}
