// The peers, built from their Go modules into a cache folder of the user. The first time takes minutes.
import { execFile } from 'node:child_process';
import { access, cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Patch, type Program, programs } from './programs.ts';

/** Paths of the programs. */
export type Peers = { readonly [Name in keyof typeof programs]: string };

/** Undefined where Go is absent. Throws when something cannot be built. */
export async function buildPeers(say: (line: string) => void): Promise<Peers | undefined> {
  if (!(await succeeds(execute('go', ['version'])))) return undefined;
  return {
    stepCa: await build('stepCa', say),
    stepCaPooled: await build('stepCaPooled', say),
    pebble: await build('pebble', say),
  };
}

async function build(name: keyof typeof programs, say: (line: string) => void): Promise<string> {
  const program: Program = programs[name];
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'acmery-bench');
  const target = join(cache, `${name}-${program.version}`);
  if (await succeeds(access(target))) return target;
  say(`building ${target} (once)`);
  const work = `${target}.work`;
  const main = join(work, 'main');
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  await copyModule(`${program.module}@v${program.version}`, work, main);
  if (program.patch !== undefined) await apply(program.patch, program.module, work, main);
  await go(['build', '-o', join(work, 'program'), program.command], main);
  await rename(join(work, 'program'), target);
  await rm(work, { recursive: true, force: true });
  return target;
}

async function apply(
  { module, file, find, put }: Patch,
  mainModule: string,
  work: string,
  main: string,
): Promise<void> {
  let folder = main;
  if (module !== mainModule) {
    folder = join(work, 'patched');
    const { Version: version } = JSON.parse(await go(['list', '-m', '-json', module], main));
    await copyModule(`${module}@${version}`, main, folder);
    await go(['mod', 'edit', '-replace', `${module}=${folder}`], main);
  }
  const source = await readFile(join(folder, file), 'utf8');
  if (!source.includes(find)) throw new Error(`${module} has another ${file} than the one that is patched.`);
  await writeFile(join(folder, file), source.replaceAll(find, put));
}

/** Modules in Go's own cache are read-only. */
async function copyModule(module: string, cwd: string, target: string): Promise<void> {
  const { Dir: source } = JSON.parse(await go(['mod', 'download', '-json', module], cwd));
  await cp(source, target, { recursive: true });
  await execute('chmod', ['-R', 'u+w', dirname(target)]);
}

const LONGEST_MS = 30 * 60_000;

/** Least priority: others may be at work here. Without cgo, no C compiler and no smart-card library is needed. */
async function go(args: readonly string[], cwd: string): Promise<string> {
  const env = { ...process.env, CGO_ENABLED: '0' };
  const options = { cwd, env, timeout: LONGEST_MS, maxBuffer: 2 ** 24 };
  return (await execute('nice', ['-n', '19', 'go', ...args], options)).stdout;
}

const execute = promisify(execFile);

const succeeds = (trying: Promise<unknown>): Promise<boolean> =>
  trying.then(
    () => true,
    () => false,
  );
