// One run of the Postgres server program, from spawn to exit.
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Binaries } from './binaries.ts';
import { explainOutput } from './failure.ts';
import { spawnAs } from './program.ts';
import { takesLogins } from './readiness.ts';
import { dataPath, type RunAs } from './run-as.ts';
import { socketDirectories } from './socket.ts';

export type PostmasterOptions = {
  readonly binaries: Binaries;
  readonly cluster: string;
  readonly runAs: RunAs;
  readonly port: number;
  readonly settings: Readonly<Record<string, string>>;
};

const KEPT_OUTPUT = 4_096;
const POLL_MS = 25;

/** SIGINT ends sessions and writes a checkpoint; the others leave recovery to the next start. Together under 3 s. */
const stopSteps = [
  ['SIGINT', 2_000],
  ['SIGQUIT', 500],
  ['SIGKILL', 0],
] as const;

const fixedSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: socketDirectories,
  unix_socket_permissions: '0700',
  max_connections: '50',
  logging_collector: 'off',
  log_destination: 'stderr',
  // Only what concerns the server: what was wrong with a statement is told to its client.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

export class Postmaster {
  readonly #options: PostmasterOptions;
  readonly #child: ChildProcess;
  readonly #guard: ChildProcess | undefined;
  /** Settles when the process is gone, with the reason. */
  readonly exited: Promise<Error>;
  #hasExited = false;
  #wasReady = false;
  #output = '';

  constructor(options: PostmasterOptions) {
    const { binaries, cluster, runAs, port } = options;
    const settings = Object.entries({ ...fixedSettings, ...options.settings }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    this.#options = options;
    this.#child = spawnAs(
      join(binaries.folder, 'postgres'),
      ['-D', dataPath(runAs, cluster), '-p', String(port), ...settings],
      // A session of its own: Ctrl-C in the terminal reaches us alone, and we stop Postgres after the last request.
      { runAs, folder: cluster, detached: true, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#output = (this.#output + text).slice(-KEPT_OUTPUT);
    });
    this.exited = this.#exit();
    this.#guard = this.#child.pid === undefined ? undefined : guard(this.#child.pid, runAs);
  }

  /** Waits until the server takes logins; recovery after a crash may take its time. Throws PostgresError when it exits. */
  async ready(signal: AbortSignal | undefined): Promise<void> {
    while (!(await takesLogins(this.#options.port))) {
      signal?.throwIfAborted();
      const reason = await Promise.race([this.exited, pause(POLL_MS)]);
      if (reason !== undefined) throw reason;
    }
    if (this.#hasExited) throw await this.exited;
    this.#wasReady = true;
  }

  async stop(): Promise<void> {
    for (const [signal, timeoutMs] of stopSteps) {
      if (this.#hasExited) return;
      this.#child.kill(signal);
      const deadline = new AbortController();
      await Promise.race([this.exited, pause(timeoutMs, undefined, { signal: deadline.signal }).catch(() => {})]);
      deadline.abort();
    }
    await this.exited;
  }

  #exit(): Promise<Error> {
    return new Promise((resolve) => {
      const settle = (cause: Error) => {
        this.#hasExited = true;
        this.#guard?.kill('SIGKILL');
        const happened = this.#wasReady ? 'ended by itself' : 'did not start';
        resolve(explainOutput(this.#options.cluster, this.#output, { happened, cause }));
      };
      this.#child.on('error', settle);
      // 'close' and not 'exit': by then its last words have been read.
      this.#child.on('close', (code, signal) =>
        settle(new Error(`Postgres ended with ${signal ?? `status ${code}`}.`)),
      );
    });
  }
}

/**
 * A shell that waits for the end of our process (its standard input closes, even by kill -9) and then stops Postgres.
 * Where there is no shell, the next start stops what is left.
 */
function guard(pid: number, runAs: RunAs): ChildProcess {
  const shell = spawnAs('/bin/sh', ['-c', 'read -r _; kill -INT "$0"', String(pid)], {
    runAs,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.on('error', () => {});
  shell.stdin?.on('error', () => {});
  shell.unref();
  return shell;
}
