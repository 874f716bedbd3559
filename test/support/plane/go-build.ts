// Builds programs of the plane from Go modules whose versions and checksums are committed beside this file.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { cacheFolder } from './cache.ts';

export type GoProgram = {
  readonly name: string;
  /** Folder with go.mod and go.sum. */
  readonly module: 'go-etcd' | 'go-kubernetes' | 'go-cert-manager' | 'go-helm' | 'go-prometheus' | 'go-kstatus';
  readonly package: string;
  /** Without anything in Go's own cache, on one core. */
  readonly cpuMinutes: number;
  /** Build tags of Go, which leave out parts of a program. */
  readonly tags?: string;
  /** A folder of YAML of a module: becomes one file beside the program. */
  readonly yaml?: { readonly module: string; readonly folder: string; readonly file: string };
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
  const source = join(import.meta.dirname, module);
  for (const file of readdirSync(source).sort()) hash.update(readFileSync(join(source, file)));
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
  const source = join(import.meta.dirname, program.module);
  const tags = program.tags === undefined ? [] : ['-tags', program.tags];
  const flags = ['-mod=readonly', '-trimpath', '-ldflags', linkerFlags, ...tags];
  const args = ['build', ...flags, '-o', half, program.package];
  await go(args, source).finally(() => clearInterval(progress));
  if (program.yaml !== undefined) await writeFile(join(folder, program.yaml.file), await joined(program.yaml, source));
  // Whole or not there at all.
  await rename(half, path);
  tell(`built ${program.name} in ${seconds()} s`);
  return path;
}

async function joined({ module, folder }: NonNullable<GoProgram['yaml']>, source: string): Promise<string> {
  const root = (await go(['list', '-m', '-f', '{{.Dir}}', module], source)).trim();
  const files = (await readdir(join(root, folder))).filter((name) => name.endsWith('.yaml')).sort();
  return (await Promise.all(files.map((name) => readFile(join(root, folder, name), 'utf8')))).join('\n---\n');
}

/** What it printed. */
function go(args: readonly string[], cwd: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
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
    if (code === 0) resolve(output);
    else reject(new Error(`go ${args[0]} ended with ${code ?? signal}: ${end}`));
  });
  return promise;
}
