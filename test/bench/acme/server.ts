// A server under measurement: where it is reached, and where what it uses is read.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { usualPlaces } from '../../../src/postgres/binaries.ts';
import { startPostgres } from '../../../src/postgres/cluster.ts';
import { freePort } from '../../../src/postgres/readiness.ts';
import { eventually } from '../../support/eventually.ts';
import { Connection } from './connection.ts';
import type { ResponderPorts } from './responder.ts';
import type { AcmeLoad, Eab } from './run-load.ts';

export type BenchServer = AsyncDisposable &
  Pick<AcmeLoad, 'ca' | 'directoryUrl' | 'responder' | 'watch'> & {
    readonly name: string;
    /** Where accounts are registered without EAB, when it is another one. */
    readonly openDirectoryUrl?: string;
    readonly database?: BenchPostgres;
    /** On disk, for a server that keeps its data in files of its own. */
    readonly dataFolder?: string;
    newEab?(orderValidations: 'challenge' | 'auto_approve'): Promise<Eab>;
  };

export type BenchPostgres = {
  readonly url: string;
  /** As a Postgres of our own is reached. */
  readonly nearestUrl: string;
  readonly pid: number;
};

/** Where a server keeps what it has: gone with it. */
export async function temporaryFolder(opened: AsyncDisposableStack, name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `acmery-bench-${name}-`));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export async function responderPorts(): Promise<ResponderPorts> {
  return { http: await freePort(), dns: await freePort() };
}

/** A Postgres of its own, with its usual durability. */
export async function benchPostgres(opened: AsyncDisposableStack, folder: string): Promise<BenchPostgres> {
  const places = await usualPlaces(process.env.PATH ?? '');
  // step-ca opens a connection for whatever is under way at once.
  const settings = { max_connections: '200' };
  const { url, nearestUrl } = opened.use(await startPostgres({ dataDir: join(folder, 'database'), places, settings }));
  const [row] = await queryOnce(url, `select split_part(pg_read_file('postmaster.pid'), e'\\n', 1)::int as pid`);
  return { url, nearestUrl, pid: Number(row?.pid) };
}

export async function queryOnce(url: string, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

type Program = {
  readonly file: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly isReady: () => Promise<boolean>;
};

/** Starts a program, whose output goes to a file, and waits until it is ready. Its process id. */
export async function startProgram(opened: AsyncDisposableStack, program: Program): Promise<number> {
  const { file, args, folder, env = {}, isReady } = program;
  const { PATH, HOME } = process.env;
  const log = join(folder, 'output.log');
  await using output = await open(log, 'w');
  const stdio = ['ignore', output.fd, output.fd] as const;
  const child = spawn(file, args, { cwd: folder, env: { PATH, HOME, ...env }, stdio: [...stdio] });
  const ended = once(child, 'exit');
  opened.defer(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const early = ended.then(async () => {
    throw new Error(`${file} ended: ${(await readFile(log, 'utf8')).slice(-2_000)}`);
  });
  await Promise.race([eventually(`${file} is ready`, isReady, 30_000), early]);
  early.catch(() => {});
  return child.pid ?? 0;
}

/** Whether the directory is there. */
export async function answers({ directoryUrl, ca }: Pick<BenchServer, 'directoryUrl' | 'ca'>): Promise<boolean> {
  const connection = new Connection({ url: new URL(directoryUrl), ca });
  try {
    return (await connection.ask(directoryUrl)).status === 200;
  } catch {
    return false;
  } finally {
    connection.close();
  }
}
