// Builds programs of the plane from Go modules whose versions and checksums are committed beside this file.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { cacheFolder } from './cache.ts';

export type GoProgram = {
  readonly name: string;
  /** Folder with go.mod and go.sum. */
  readonly module: 'go-etcd' | 'go-kubernetes';
  readonly package: string;
  /** Without anything in Go's own cache, on one core. */
  readonly cpuMinutes: number;
};

const KUBERNETES = '1.36.3';
const BUILD_DEADLINE_MS = 40 * 60_000;
const PROGRESS_MS = 60_000;
const TAIL_LINES = 5;

// Without a version the API server calls itself v0.0.0, which no chart accepts.
const [major, minor] = KUBERNETES.split('.');
const version = { gitVersion: `v${KUBERNETES}`, gitMajor: major, gitMinor: minor };
const linkerFlags = [
  '-s -w',
  ...Object.entries(version).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`),
].join(' ');

/** Changes with everything that the programs of the module are made of. */
export function builtFolder(module: GoProgram['module']): string {
  const hash = createHash('sha256').update(linkerFlags);
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(import.meta.dirname, module, file)));
  return join(cacheFolder, `${module}-${hash.digest('hex').slice(0, 16)}`);
}

/** Puts the program into its folder of the cache and returns its path. Throws with the end of what Go said. */
export async function buildGoProgram(program: GoProgram, tell: (sentence: string) => void): Promise<string> {
  const folder = builtFolder(program.module);
  await mkdir(folder, { recursive: true });
  const [half, path] = [join(folder, `${program.name}.half`), join(folder, program.name)];
  tell(`building ${program.name} with Go: up to ${program.cpuMinutes} CPU minutes, once`);
  const begun = performance.now();
  const seconds = (): number => Math.round((performance.now() - begun) / 1_000);
  const progress = setInterval(() => tell(`still building ${program.name}: ${seconds()} s`), PROGRESS_MS);
  const args = ['build', '-mod=readonly', '-trimpath', '-ldflags', linkerFlags, '-o', half, program.package];
  await go(args, join(import.meta.dirname, program.module)).finally(() => clearInterval(progress));
  // Whole or not there at all.
  await rename(half, path);
  tell(`built ${program.name} in ${seconds()} s`);
  return path;
}

function go(args: readonly string[], cwd: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn('go', args, {
    cwd,
    env: { ...process.env, CGO_ENABLED: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: BUILD_DEADLINE_MS,
  });
  // The compilers that it starts are as patient as it is.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  let output = '';
  for (const channel of [child.stdout, child.stderr]) {
    channel.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  child.on('error', (error) => reject(new Error(`go cannot be run (${error.message})`)));
  child.on('close', (code, signal) => {
    const end = output.trim().split('\n').slice(-TAIL_LINES).join('; ');
    if (code === 0) resolve();
    else reject(new Error(`go build ended with ${code ?? signal}: ${end}`));
  });
  return promise;
}
