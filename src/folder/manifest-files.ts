// The YAML files of a folder, looked at again and again: the text of each, once it has stopped changing.
import type { Dirent } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** Whole files only: `problem` where one cannot be read, and then nobody knows what it says. */
export type ManifestFile = { readonly path: string } & ({ readonly text: string } | { readonly problem: string });

/** All files of a folder, by path; or why nobody knows which there are. */
export type FolderReading = { readonly files: readonly ManifestFile[] } | { readonly problem: string };

const MANIFEST = /\.(ya?ml|json)$/i;
const MAX_BYTES = 4_194_304;

type Seen = { readonly fingerprint: string; readonly file: ManifestFile };

/** Of an entry of the folder or of those below it: what begins with a dot is none, status files among them. */
export const isManifest = (entry: Dirent, folder: string): boolean =>
  !entry.isDirectory() &&
  MANIFEST.test(entry.name) &&
  !relative(folder, pathOf(entry))
    .split(/[/\\]/)
    .some((part) => part.startsWith('.'));

/** Reads a folder with all below it; what begins with a dot is left alone. */
export class ManifestFiles {
  readonly #folder: string;
  /** As files were when they were last looked at. */
  #looked = new Map<string, string>();
  #read = new Map<string, Seen>();
  /** What was told last, so that it is told once. */
  #told: string | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * What is there now; undefined while nothing is new, and while something is being written: a file counts, and is
   * missed, only when two looks have found it alike.
   */
  async look(): Promise<FolderReading | undefined> {
    const fingerprints = await this.#fingerprints().catch(problemOf);
    if (typeof fingerprints === 'string') return this.#isNews(fingerprints) ? { problem: fingerprints } : undefined;
    const isSettled = sameEntries(fingerprints, this.#looked);
    this.#looked = fingerprints;
    if (!isSettled || !this.#isNews([...fingerprints].flat().join('\n'))) return undefined;
    const read = new Map<string, Seen>();
    for (const [path, fingerprint] of fingerprints) {
      const before = this.#read.get(path);
      read.set(path, before?.fingerprint === fingerprint ? before : { fingerprint, file: await readManifest(path) });
    }
    this.#read = read;
    return { files: [...read.values()].map(({ file }) => file) };
  }

  #isNews(state: string): boolean {
    const isNews = state !== this.#told;
    this.#told = state;
    return isNews;
  }

  async #fingerprints(): Promise<Map<string, string>> {
    const entries = await readdir(this.#folder, { recursive: true, withFileTypes: true });
    const paths = entries.filter((entry) => isManifest(entry, this.#folder)).map((entry) => pathOf(entry));
    const stats = await Promise.all(paths.sort().map(async (path) => [path, await stat(path)] as const));
    return new Map(
      stats
        .filter(([, found]) => found.isFile())
        .map(([path, { ino, size, mtimeMs, ctimeMs }]) => [path, `${ino} ${size} ${mtimeMs} ${ctimeMs}`]),
    );
  }
}

async function readManifest(path: string): Promise<ManifestFile> {
  try {
    const { size } = await stat(path);
    if (size > MAX_BYTES) return { path, problem: `${path} is larger than ${MAX_BYTES} bytes: split it.` };
    const bytes = await readFile(path);
    return { path, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch (error) {
    return { path, problem: problemOf(error) };
  }
}

const problemOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const sameEntries = (one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean =>
  one.size === other.size && [...one].every(([path, fingerprint]) => other.get(path) === fingerprint);

const pathOf = (entry: Dirent): string => join(entry.parentPath, entry.name);
