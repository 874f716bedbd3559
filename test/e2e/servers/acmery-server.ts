// Acmery as a user starts it: a process of its own with an embedded Postgres, and a token for /v1.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent, fetch } from 'undici';
import { serveAcmery } from '../../support/acmery-process.ts';
import { freePort } from '../free-port.ts';

/** Sends to /v1 and returns the JSON of the reply: a POST where there is a body, unless another method is named. */
export type Api = (path: string, body?: unknown, method?: string) => Promise<ReturnType<typeof JSON.parse>>;

export type Acmery = AsyncDisposable & {
  readonly api: Api;
  readonly acmePort: number;
  /** Where the plain HTTP listener is. */
  readonly httpUrl: string;
  /** Anchor of its HTTPS. */
  readonly caFile: string;
};

export async function runAcmery(folder: string, settings: Readonly<Record<string, string>>): Promise<Acmery> {
  await using opened = new AsyncDisposableStack();
  const token = randomBytes(24).toString('hex');
  const acmePort = await freePort();
  const env = {
    ACMERY_BOOTSTRAP_TOKEN: token,
    ACMERY_PUBLIC_URL: `https://localhost:${acmePort}`,
    ...settings,
  };
  const dataDir = join(folder, 'data');
  const running = opened.use(await serveAcmery(dataDir, ['--acme-listen', `127.0.0.1:${acmePort}`], { env }));
  // Before a folder can go, the Postgres in it must have ended.
  opened.defer(() => running.stop('SIGTERM').then(() => undefined));
  await running.untilReady();
  const caFile = join(dataDir, 'tls/ca.crt');
  const dispatcher = new Agent({ connect: { ca: await readFile(caFile) } });
  opened.defer(() => dispatcher.close());
  const isServing = opened.move();
  return {
    api: apiOf(`https://localhost:${running.apiPort}/v1`, token, dispatcher),
    acmePort,
    httpUrl: running.httpUrl,
    caFile,
    [Symbol.asyncDispose]: () => isServing.disposeAsync(),
  };
}

const apiOf =
  (base: string, token: string, dispatcher: Agent): Api =>
  async (path, body, method = body === undefined ? 'GET' : 'POST') => {
    const reply = await fetch(`${base}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      dispatcher,
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${path} answered ${reply.status}: ${text}`);
    return JSON.parse(text);
  };
