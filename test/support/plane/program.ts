// One program of the plane: its output goes to a file, and it can be killed, frozen and started again.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

const TAIL_LINES = 30;

export class Program implements AsyncDisposable {
  readonly #path: string;
  readonly #args: readonly string[];
  /** Holds its log, and its process id for the guard. */
  readonly #folder: string;
  #child: ChildProcess | undefined;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(path: string, args: readonly string[], folder: string) {
    this.#path = path;
    this.#args = args;
    this.#folder = folder;
  }

  get name(): string {
    return basename(this.#path);
  }

  /** Undefined until it is started. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async start(): Promise<void> {
    const log = openSync(this.#logFile, 'a');
    // A process group of its own: an interrupt in the terminal is for the test run, whose end ends this.
    const child = spawn(this.#path, this.#args, {
      stdio: ['ignore', log, log],
      detached: true,
      env: { PATH: process.env.PATH },
    });
    closeSync(log);
    this.#child = child;
    this.#ended = new Promise((resolve) => child.once('exit', resolve).once('error', resolve));
    await once(child, 'spawn');
    await writeFile(this.#pidFile, `${child.pid}`);
  }

  /** At once: asked to end, an API server waits a minute for its watches. */
  async stop(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await this.#ended;
    await rm(this.#pidFile, { force: true });
  }

  /** It keeps its connections and answers nothing, until `thaw`. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Throws, with the end of its log, once the program has ended by itself. */
  async mustRun(): Promise<void> {
    const { exitCode = null, signalCode = null } = this.#child ?? {};
    if (exitCode === null && signalCode === null) return;
    throw new Error(`${this.name} ended with ${exitCode ?? signalCode}:\n${await this.tail()}`);
  }

  async tail(): Promise<string> {
    const text = await readFile(this.#logFile, 'utf8');
    return text.trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  get #logFile(): string {
    return join(this.#folder, `${this.name}.log`);
  }

  get #pidFile(): string {
    return join(this.#folder, `${this.name}.pid`);
  }
}

/**
 * A shell that outlives us if need be: when our end of its input closes, in whatever way, it kills the programs whose
 * process ids lie in the folder, and removes the folder. Disposing of it does the same and waits.
 */
export function guard(folder: string): AsyncDisposable {
  const script = 'cat >/dev/null; for file in "$1"/*.pid; do kill -KILL "$(cat "$file")"; done; rm -rf "$1"';
  const child = spawn('sh', ['-c', script, 'plane-guard', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  const ended = once(child, 'exit');
  return {
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
    },
  };
}
