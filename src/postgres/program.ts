// Starts the Postgres programs as the user of the cluster.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { PostgresError } from './failure.ts';
import { needsDescriptor, type RunAs } from './run-as.ts';

type Outcome = { readonly ok: boolean; readonly output: string; readonly cause?: Error };

type Stream = 'ignore' | 'pipe';

type Options = Pick<SpawnOptions, 'detached' | 'timeout' | 'signal'> & {
  /** Standard input, output and errors. */
  readonly stdio?: readonly [Stream, Stream, Stream];
  readonly runAs: RunAs;
  /** The data folder that the program works on, if any. */
  readonly folder?: string;
};

/** Messages in English, so that they can be told apart, and none of the user's PG* settings. */
const environment = { LC_ALL: 'C', PATH: '/usr/bin:/bin' };

/** A program that works in `/`, which every user may enter; Postgres 15 and older insist on coming back to where they began. */
export function spawnAs(file: string, args: readonly string[], options: Options): ChildProcess {
  const { runAs, folder, stdio = ['ignore', 'pipe', 'pipe'], ...rest } = options;
  const descriptor = folder !== undefined && needsDescriptor(runAs) ? openSync(folder, 'r') : undefined;
  try {
    return spawn(file, args, {
      ...rest,
      ...runAs.user,
      cwd: '/',
      env: environment,
      stdio: [...stdio, descriptor ?? 'ignore'],
    });
  } catch (error) {
    throw runAs.user === undefined ? error : cannotBecome(runAs.user.uid, error);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Runs a program to its end. */
export async function runProgram(file: string, args: readonly string[], options: Options): Promise<Outcome> {
  const child = spawnAs(file, args, options);
  return new Promise((resolve) => {
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.on('error', (cause) => resolve({ ok: false, output: output || cause.message, cause }));
    child.on('close', (code, signal) =>
      resolve(
        code === 0
          ? { ok: true, output }
          : { ok: false, output, cause: new Error(`${file} ended with ${signal ?? `status ${code}`}`) },
      ),
    );
  });
}

/** Root in a container or user namespace is not always allowed to take another user. */
const cannotBecome = (uid: number, cause: unknown) =>
  new PostgresError(
    `Postgres refuses to run as root, and this process may not become user ${uid}: start as an ordinary user, or set DATABASE_URL to a running server.`,
    cause,
  );
