// The program as a user runs it: a process of its own, with its output, its exit code and its HTTP doors.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type RequestOptions, request } from 'node:https';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import { freePorts } from './plane/free-ports.ts';

const ROOT = join(import.meta.dirname, '../..');

export type RunOptions = {
  readonly env?: Readonly<Record<string, string>>;
  /** Runs as this user and group; needs root. */
  readonly uid?: number;
  /** What is run in the place of the sources; it gets the arguments and the variables. */
  readonly program?: Program;
  /** An address of this machine at which others reach ACME; it stands in the public URL, and ACME listens everywhere. */
  readonly acmeAddress?: string;
};

export type Program = (args: readonly string[], env: Readonly<Record<string, string>>) => readonly string[];

const fromSource: Program = (args) => [
  process.execPath,
  join(ROOT, 'scripts/node.cjs'),
  join(ROOT, 'src/main.ts'),
  ...args,
];

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** Runs a command to its end. */
export async function runAcmery(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return started(args, options).ended;
}

export type ServingAcmery = AsyncDisposable & {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  readonly opsUrl: string;
  readonly apiPort: number;
  readonly acmeUrl: string;
  readonly httpUrl: string;
  /** Resolves with the state of readiness: its status and what the checks say. */
  ready(): Promise<{ readonly status: number; readonly text: string }>;
  untilReady(): Promise<void>;
  /** Status, headers and body of a request to the API listener, whose certificate is verified with our anchor. */
  api(
    path: string,
    headers?: Record<string, string>,
    method?: string,
    json?: unknown,
  ): Promise<{ status: number; retryAfter?: string; body: string }>;
  /** The same of a request to the ACME listener. */
  acme(path: string): Promise<{ status: number; retryAfter?: string; body: string }>;
  stop(signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): Promise<Ended>;
};

/** Starts `serve` on a data folder and free ports; disposing of it kills what still runs. */
export async function serveAcmery(
  dataDir: string,
  args: readonly string[] = [],
  options: RunOptions = {},
): Promise<ServingAcmery> {
  const { acmeAddress, env } = options;
  const ports = await freePorts(['acme', 'api', 'http', 'ops']);
  const acmeHost = acmeAddress === undefined ? '127.0.0.1' : '0.0.0.0';
  const listen = Object.entries(ports).flatMap(([door, port]) => [
    `--${door}-listen`,
    `${door === 'acme' ? acmeHost : '127.0.0.1'}:${port}`,
  ]);
  const publicUrl = acmeAddress === undefined ? undefined : `https://${acmeAddress}:${ports.acme}`;
  const reached = publicUrl && { ACMERY_PUBLIC_URL: publicUrl, ACMERY_TLS_NAMES: `${acmeAddress},localhost` };
  const { child, ended } = started(['serve', '--data-dir', dataDir, ...listen, ...args], {
    ...options,
    env: { ...env, ...reached },
  });
  const opsUrl = `http://127.0.0.1:${ports.ops}`;
  const ready = async (): Promise<{ status: number; text: string }> => {
    const reply = await fetch(`${opsUrl}/readyz?verbose`);
    return { status: reply.status, text: await reply.text() };
  };
  const askOf = async (
    port: number,
    path: string,
    headers: Record<string, string> = {},
    method = 'GET',
    json?: unknown,
  ) => {
    const ca = await readFile(join(dataDir, 'tls', 'ca.crt'));
    const body = json === undefined ? undefined : JSON.stringify(json);
    const ofBody = body && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
    return ask({ host: 'localhost', port, path, method, headers: { ...headers, ...ofBody }, ca, family: 4 }, body);
  };
  return {
    child,
    ended,
    opsUrl,
    apiPort: ports.api,
    acmeUrl: `https://localhost:${ports.acme}`,
    httpUrl: `http://127.0.0.1:${ports.http}`,
    ready,
    async untilReady() {
      const isReady = async (): Promise<boolean> => (await ready().catch(() => ({ status: 0 }))).status === 200;
      const early = ended.then(({ code, stderr }) => {
        throw new Error(`serve ended with ${code}: ${stderr}`);
      });
      await Promise.race([eventually('acmery is ready', isReady, 30_000), early]);
    },
    api: (...asked) => askOf(ports.api, ...asked),
    acme: (path) => askOf(ports.acme, path),
    stop(signal) {
      child.kill(signal);
      return ended;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function started(
  args: readonly string[],
  { env = {}, uid, program = fromSource }: RunOptions,
): { child: ChildProcess; ended: Promise<Ended> } {
  const { PATH, HOME } = process.env;
  const [file = '', ...rest] = program(args, env);
  const child = spawn(file, rest, {
    cwd: ROOT,
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid !== undefined && { uid, gid: uid }),
  });
  const output = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  return { child, ended: once(child, 'close').then(([code]) => ({ code, ...output })) };
}

function ask(options: RequestOptions, sent?: string): Promise<{ status: number; retryAfter?: string; body: string }> {
  return new Promise((resolve, reject) => {
    request(options, (reply) => {
      let body = '';
      reply.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      const retryAfter = reply.headers['retry-after'];
      const headers = retryAfter === undefined ? {} : { retryAfter };
      reply.on('end', () => resolve({ status: reply.statusCode ?? 0, body, ...headers }));
    })
      .on('error', reject)
      .end(sent);
  });
}
