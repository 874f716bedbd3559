// Runs a Postgres of our own in the data folder: makes it on first use, keeps it running, stops it with us.
import { mkdir, realpath } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { OwnPostgresNotice } from '../telemetry/events.ts';
import { type Binaries, type BinaryPlaces, chooseBinaries } from './binaries.ts';
import { explainFileError, isPortTaken } from './failure.ts';
import { clusterMajor, initialise, localUrl, readPassword } from './initialise.ts';
import { type Layout, layoutOf } from './layout.ts';
import { stopLeftover } from './leftover.ts';
import { FolderLock } from './lock.ts';
import { Postmaster, type PostmasterOptions } from './postmaster.ts';
import { freePort } from './readiness.ts';
import { chooseUser, type RunAs } from './run-as.ts';
import { removeSockets, socketFolder } from './socket.ts';

export type PostgresOptions = {
  /** Folder of the program's data; Postgres lives below it in `postgres`. */
  readonly dataDir: string;
  /** Where to look for binaries: `await usualPlaces(PATH)`. */
  readonly places: BinaryPlaces;
  /** Further settings of the server, stronger than ours. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly onNotice?: (notice: OwnPostgresNotice) => void;
  /** Ends the start; a server that runs is stopped by disposing of it. */
  readonly signal?: AbortSignal;
};

type Restart = (signal: AbortSignal) => Promise<Postmaster>;

const PORT_ATTEMPTS = 3;
const RESTART_FIRST_MS = 100;
const RESTART_LONGEST_MS = 10_000;

/** Throws PostgresError when Postgres cannot run here; its message is one sentence that says what to do. */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  try {
    const layout = await makeHome(options.dataDir);
    await using opened = new AsyncDisposableStack();
    opened.use(await FolderLock.take(layout));
    const runAs = await chooseUser(layout);
    const binaries = await prepareCluster(layout, runAs, options);
    const password = await readPassword(layout);
    const fixed = { binaries, cluster: layout.cluster, runAs, settings: options.settings ?? {} };
    const { first, start } = await launchOnFreePort(fixed, layout, options.signal);
    return new RunningPostgres({
      url: localUrl(start.port, password),
      nearestUrl: localUrl(start.port, password, await socketFolder(layout.cluster, start.port)),
      binaries,
      first,
      restart: (signal) => launch(start, layout, signal),
      onNotice: options.onNotice,
      resources: opened.move(),
    });
  } catch (error) {
    throw explainFileError(options.dataDir, error);
  }
}

/** A server that is started again, on the same port, whenever it ends without our doing. */
export class RunningPostgres {
  /** Over the loopback interface. */
  readonly url: string;
  /** By its socket where there is one. */
  readonly nearestUrl: string;
  readonly version: string;
  readonly source: Binaries['source'];
  readonly #stopping = new AbortController();
  readonly #supervision: Promise<void>;
  readonly #resources: AsyncDisposableStack;

  constructor(parts: {
    readonly url: string;
    readonly nearestUrl: string;
    readonly binaries: Binaries;
    readonly first: Postmaster;
    readonly restart: Restart;
    readonly onNotice: PostgresOptions['onNotice'];
    readonly resources: AsyncDisposableStack;
  }) {
    this.url = parts.url;
    this.nearestUrl = parts.nearestUrl;
    this.version = parts.binaries.version;
    this.source = parts.binaries.source;
    this.#resources = parts.resources;
    this.#supervision = this.#supervise(parts.first, parts.restart, parts.onNotice ?? (() => {}));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#supervision;
    await this.#resources.disposeAsync();
  }

  async #supervise(first: Postmaster, restart: Restart, notice: (notice: OwnPostgresNotice) => void): Promise<void> {
    const stopping = new Promise<undefined>((resolve) => {
      this.#stopping.signal.addEventListener('abort', () => resolve(undefined));
    });
    for (let current: Postmaster | undefined = first; current !== undefined; ) {
      const error: Error | undefined = await Promise.race([current.exited, stopping]);
      if (error === undefined) return current.stop();
      notice({ kind: 'exited', error });
      current = await this.#restart(restart, notice);
    }
  }

  /** Undefined once we are to stop. */
  async #restart(restart: Restart, notice: (notice: OwnPostgresNotice) => void) {
    for (let retryInMs = RESTART_FIRST_MS; ; retryInMs = Math.min(retryInMs * 2, RESTART_LONGEST_MS)) {
      await pause(retryInMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
      if (this.#stopping.signal.aborted) return undefined;
      try {
        const next = await restart(this.#stopping.signal);
        notice({ kind: 'restarted' });
        return next;
      } catch (cause) {
        if (this.#stopping.signal.aborted) return undefined;
        const error = cause instanceof Error ? cause : new Error('Postgres did not start.', { cause });
        notice({ kind: 'restart_failed', error, retryInMs: Math.min(retryInMs * 2, RESTART_LONGEST_MS) });
      }
    }
  }
}

async function makeHome(dataDir: string): Promise<Layout> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const layout = layoutOf(await realpath(dataDir));
  // Root's other self must be able to walk from the cluster to its neighbours, but cannot list or read them.
  await mkdir(layout.home, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
  return layout;
}

async function prepareCluster(layout: Layout, runAs: RunAs, options: PostgresOptions): Promise<Binaries> {
  const major = await clusterMajor(layout);
  const cacheFolders = runAs.user === undefined ? [layout.binaries] : options.places.copies;
  const binaries = await chooseBinaries(options.places, { runAs, cacheFolders, major });
  if (major === undefined) await initialise(layout, binaries, runAs, options.signal);
  return binaries;
}

async function launchOnFreePort(
  fixed: Omit<PostmasterOptions, 'port'>,
  layout: Layout,
  signal: AbortSignal | undefined,
) {
  for (let attempt = 1; ; attempt += 1) {
    const start = { ...fixed, port: await freePort() };
    try {
      return { first: await launch(start, layout, signal), start };
    } catch (error) {
      if (attempt === PORT_ATTEMPTS || !isPortTaken(error)) throw error;
    }
  }
}

async function launch(start: PostmasterOptions, layout: Layout, signal: AbortSignal | undefined): Promise<Postmaster> {
  await stopLeftover(layout);
  await removeSockets(layout.cluster);
  const postmaster = new Postmaster(start);
  try {
    await postmaster.ready(signal);
    return postmaster;
  } catch (error) {
    await postmaster.stop();
    throw error;
  }
}
