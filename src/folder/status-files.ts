// Objects of a folder as they were last known, a file each: uid, generation and status survive a restart with them.
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { dump, load } from 'js-yaml';
import { API_VERSION, keyOf, kindNames, type Resource, type ResourceKey } from '../resources/resource.ts';
import { writeWhole } from './whole-file.ts';

const READ_BY_ALL = 0o644;
/** Of file systems; names of Kubernetes have up to 253 characters, and are a part of ours. */
const LONGEST_FILE_NAME = 255;
/** Paths of outputs are made of them. */
const NAME = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;
const NOTE =
  '# Written by Acmery: the status of an object of this folder. To change the object, change its own file.\n';

/** In the first of these folders that can be written to: one of manifests may be read-only. Throws the last one's reason. */
export async function openStatusFiles(folders: readonly string[]): Promise<StatusFiles> {
  let reason: unknown;
  for (const folder of folders) {
    try {
      const files = new StatusFiles(folder);
      await files.prepare();
      return files;
    } catch (error) {
      reason = error;
    }
  }
  throw reason;
}

export class StatusFiles {
  readonly #folder: string;
  /** By path: a later state never comes to stand before an earlier one. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Throws where the folder cannot be made or written to. */
  async prepare(): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    const probe = join(this.#folder, '.probe');
    await writeWhole(probe, '', READ_BY_ALL);
    await rm(probe, { force: true });
  }

  /** What is not a status file, or is damaged, is as good as lost: its object begins anew. */
  async read(): Promise<readonly Resource[]> {
    const names = (await readdir(this.#folder)).filter((name) => name.endsWith('.yaml')).sort();
    const objects = await Promise.all(
      names.map(async (name) => ({ name, object: await readObject(join(this.#folder, name)) })),
    );
    return objects.flatMap(({ name, object }) =>
      object !== undefined && fileNameOf(keyOf(object)) === name ? [object] : [],
    );
  }

  write(resource: Resource): Promise<void> {
    const { namespace, name } = resource.metadata;
    const text = dump(JSON.parse(JSON.stringify(resource)), { lineWidth: -1 });
    const path = this.#pathOf({ kind: resource.kind, namespace, name });
    return this.#inOrder(path, () => writeWhole(path, NOTE + text, READ_BY_ALL));
  }

  remove(key: ResourceKey): Promise<void> {
    const path = this.#pathOf(key);
    return this.#inOrder(path, () => rm(path, { force: true }));
  }

  #inOrder(path: string, work: () => Promise<void>): Promise<void> {
    const before = this.#writing.get(path) ?? Promise.resolve();
    const done = before.catch(() => undefined).then(work);
    this.#writing.set(path, done);
    const forget = (): void => {
      if (this.#writing.get(path) === done) this.#writing.delete(path);
    };
    done.then(forget, forget);
    return done;
  }

  #pathOf(key: ResourceKey): string {
    return join(this.#folder, fileNameOf(key));
  }
}

function fileNameOf({ kind, namespace, name }: ResourceKey): string {
  const whole = `${kind.toLowerCase()}.${namespace}.${name}.yaml`;
  if (whole.length <= LONGEST_FILE_NAME) return whole;
  return `${kind.toLowerCase()}.${namespace}.${createHash('sha256').update(name).digest('hex')}.yaml`;
}

async function readObject(path: string): Promise<Resource | undefined> {
  try {
    const object = load(await readFile(path, 'utf8')) as Partial<Resource> | undefined;
    return object !== undefined && isResource(object) ? (object as Resource) : undefined;
  } catch {
    return undefined;
  }
}

function isResource({ apiVersion, kind, metadata, spec }: Partial<Resource>): boolean {
  const isOurs = apiVersion === API_VERSION && kindNames.some((name) => name === kind);
  if (!isOurs || spec === undefined || metadata === undefined) return false;
  const { namespace, name, uid, generation } = metadata;
  return isName(namespace) && isName(name) && typeof uid === 'string' && Number.isInteger(generation);
}

const isName = (name: unknown): boolean => typeof name === 'string' && NAME.test(name);
