// Runs run-postgres.ts as a process that a test may kill.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

type PostgresProcess = AsyncDisposable & {
  readonly pid: number;
  /** What it said: `url`, `version` and `source`, or `error`. */
  readonly said: Readonly<Record<string, string>>;
  /** Process ids of what it started: Postgres and the guard. */
  readonly children: { readonly postgres: number | undefined; readonly guard: number | undefined };
  readonly ended: Promise<unknown>;
  stop(): Promise<void>;
};

export const repository = join(import.meta.dirname, '..', '..');

export async function runPostgres(options: {
  readonly dataDir: string;
  readonly kind?: 'system' | 'embedded';
  readonly uid?: number;
  /** Another copy of the repository. */
  readonly clone?: string;
}): Promise<PostgresProcess> {
  const { dataDir, kind = 'system', uid, clone = repository } = options;
  const script = join(clone, 'test/support/run-postgres.ts');
  const child = spawn(process.execPath, [script, join(clone, 'src/postgres'), dataDir, kind], {
    cwd: '/',
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(uid !== undefined && { uid, gid: uid }),
  });
  const ended = once(child, 'exit');
  const said = await firstLine(child);
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  return {
    pid: child.pid ?? 0,
    said,
    children: await childrenOf(child.pid ?? 0),
    ended,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function firstLine(child: ChildProcess): Promise<Record<string, string>> {
  if (child.stdout === null) return {};
  for await (const line of createInterface(child.stdout)) return JSON.parse(line);
  return { error: 'nothing' };
}

async function childrenOf(pid: number): Promise<PostgresProcess['children']> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'ppid=,pid=,comm=']);
  const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/));
  const find = (name: string) => {
    const row = rows.find(([parent, , command]) => Number(parent) === pid && command?.endsWith(name));
    return row === undefined ? undefined : Number(row[1]);
  };
  return { postgres: find('postgres'), guard: find('sh') };
}
