// Gets clients from the package registries, each by the registry's own tool, into a cache folder outside the repository.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { run } from './run.ts';

const BUILD_DEADLINE_MS = 1_800_000;

/** Kept between runs; `XDG_CACHE_HOME` moves it. */
export const cacheFolder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'acmery-e2e');

export type GoTool = {
  readonly module: string;
  readonly version: string;
  /** Path of the command's package below the module; empty when it is the module itself. */
  readonly command: string;
  readonly name: string;
};

/** Builds a command of a Go module and returns its path. */
export const fetchGoTool = ({ module, version, command, name }: GoTool): Promise<string> =>
  once(`${name}-${version}`, async (folder) => {
    // A module of its own instead of `go install module@version`: that also asks for the list of all versions.
    await writeFile(join(folder, 'go.mod'), `module acmery-e2e\n\ngo 1.25\n\nrequire ${module} ${version}\n`);
    const path = command === '' ? module : `${module}/${command}`;
    await gently('go', ['build', '-mod=mod', '-o', name, path], folder);
  }).then((folder) => join(folder, name));

export type GoModule = {
  /** Holds a go.mod and go.sum in which the command and everything that it needs are pinned. */
  readonly folder: string;
  /** Path of the command's package. */
  readonly command: string;
  readonly name: string;
};

/** Builds a command that a module of ours pins and returns its path. */
export async function fetchGoModule({ folder: source, command, name }: GoModule): Promise<string> {
  const files = ['go.mod', 'go.sum'];
  const folder = await once(`${name}-${await hashOf(files.map((file) => join(source, file)))}`, async (half) => {
    for (const file of files) await copyFile(join(source, file), join(half, file));
    await gently('go', ['build', '-o', name, command], half);
  });
  return join(folder, name);
}

/** Installs what a requirements file pins into a virtual environment and returns the folder of its commands. */
export async function fetchPythonPackages(name: string, requirements: string): Promise<string> {
  const folder = await once(`${name}-${await hashOf([requirements])}`, async (half, final) => {
    await gently('python3', ['-m', 'venv', final], half);
    await gently(join(final, 'bin/pip'), ['install', '--quiet', '--requirement', requirements], half);
  });
  return join(folder, 'bin');
}

/** Installs Python packages into a virtual environment and returns the folder of its commands. */
export const fetchPythonTool = (name: string, version: string): Promise<string> =>
  once(`${name}-${version}`, async (folder, final) => {
    // The environment holds its own path, so it is made where it will stay.
    await gently('python3', ['-m', 'venv', final], folder);
    await gently(join(final, 'bin/pip'), ['install', '--quiet', `${name}==${version}`], folder);
  }).then((folder) => join(folder, 'bin'));

/** Unpacks Debian packages, without installing them, and returns the folder that is their root. */
export const fetchDebianPackages = (name: string, packages: readonly string[]): Promise<string> =>
  once(`debian-${name}`, async (folder) => {
    await gently('apt-get', ['download', ...packages], folder);
    for (const file of await readdir(folder)) {
      if (file.endsWith('.deb')) await gently('dpkg-deb', ['-x', file, 'root'], folder);
    }
  }).then((folder) => join(folder, 'root'));

/** Copies a Java library with everything that it needs, and returns the class path. */
export const fetchJavaLibrary = (group: string, artifact: string, version: string): Promise<string> =>
  once(`${artifact}-${version}`, async (folder) => {
    await writeFile(
      join(folder, 'pom.xml'),
      `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
  <groupId>acmery</groupId><artifactId>e2e</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version>
  </dependency></dependencies>
</project>\n`,
    );
    await gently('mvn', ['-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=jars'], folder);
  }).then((folder) => join(folder, 'jars/*'));

/** Fills a folder of the cache, unless an earlier run has done so to its end. */
async function once(name: string, fill: (folder: string, final: string) => Promise<void>): Promise<string> {
  const final = join(cacheFolder, name);
  const mark = join(final, 'fetched');
  if (existsSync(mark)) return final;
  const half = `${final}.half`;
  await rm(final, { recursive: true, force: true });
  await rm(half, { recursive: true, force: true });
  await mkdir(half, { recursive: true });
  await fill(half, final);
  if (existsSync(final)) await rm(half, { recursive: true, force: true });
  else await rename(half, final);
  await writeFile(mark, '');
  return final;
}

/** Of their contents: enough to tell versions of a cache apart. */
async function hashOf(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) hash.update(await readFile(file));
  return hash.digest('hex').slice(0, 16);
}

const gently = (program: string, args: readonly string[], cwd: string): Promise<string> =>
  run({
    program: 'nice',
    args: ['-n', '19', program, ...args],
    cwd,
    deadlineMs: BUILD_DEADLINE_MS,
    env: goEnvironment(),
  });

/** Tools keep their downloads where their users have them. */
function goEnvironment(): Record<string, string> {
  const names = ['GOPROXY', 'GOPATH', 'GOMODCACHE', 'GOCACHE', 'GOFLAGS', 'JAVA_HOME', 'MAVEN_OPTS', 'PIP_INDEX_URL'];
  return Object.fromEntries(
    names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}
