// What is made for objects of a folder: a folder of files for each, one file a value, which only we can read.
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Output, type Outputs, SourceError } from '../operator/ports.ts';
import type { Resource } from '../resources/resource.ts';
import { writeWhole } from './whole-file.ts';

/** Says whose folder it is: by name, because a uid is lost with the status files. */
const OWNER_FILE = '.owner';
/** Stands in it before the owner of what stays when that goes. */
const RETAINED = 'retained for ';
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

export type FolderOutputs = Outputs & {
  /** What is left of an object that is gone goes too. */
  collect(owner: Resource): Promise<void>;
};

/** Below `folder`: `<namespace>/<name>/<key>`. */
export function folderOutputs(folder: string): FolderOutputs {
  const placeOf = (owner: Resource, { name }: Pick<Output, 'name'>): string =>
    join(folder, owner.metadata.namespace, name);

  return {
    createOnce: (owner, output) => {
      const place = placeOf(owner, output);
      return translated(`write ${place}`, async () => {
        const before = await readOwned(place, owner);
        if (before !== undefined) return before;
        await makeWhole(place, owner, output.data);
        return output.data;
      });
    },
    apply: (owner, output) => {
      const place = placeOf(owner, output);
      return translated(`write ${place}`, async () => {
        const before = await readOwned(place, owner);
        if (before === undefined) {
          await makeWhole(place, owner, output.data);
          return 'created';
        }
        const isRetained = (await holderOf(place)) !== titleOf(owner);
        if (isRetained) await writeOwner(place, titleOf(owner));
        if (sameValues(before, output.data)) return isRetained ? 'corrected' : 'unchanged';
        await writeValues(place, output.data);
        const surplus = Object.keys(before).filter((key) => !Object.hasOwn(output.data, key));
        for (const key of surplus) await rm(join(place, key), { force: true });
        return 'corrected';
      });
    },
    read: (owner, output) => {
      const place = placeOf(owner, output);
      return translated(`read ${place}`, () => readOwned(place, owner));
    },
    retain: (owner, output) => {
      const place = placeOf(owner, output);
      return translated(`write ${place}`, async () => {
        if ((await readOwned(place, owner)) !== undefined) await writeOwner(place, `${RETAINED}${titleOf(owner)}`);
      });
    },
    remove: (owner, output) => {
      const place = placeOf(owner, output);
      return translated(`remove ${place}`, async () => {
        if ((await readOwned(place, owner)) !== undefined) await rm(place, { recursive: true, force: true });
      });
    },
    async collect(owner) {
      const namespace = join(folder, owner.metadata.namespace);
      for (const name of (await namesIn(namespace)) ?? []) {
        const place = join(namespace, name);
        if ((await holderOf(place)) === titleOf(owner)) await rm(place, { recursive: true, force: true });
      }
    },
  };
}

const titleOf = ({ kind, metadata: { namespace, name } }: Resource): string => `${kind} ${namespace}/${name}`;

/** Nobody finds a part of it, also after a crash. */
async function makeWhole(place: string, owner: Resource, values: Output['data']): Promise<void> {
  const unfinished = join(dirname(place), `.unfinished-${randomBytes(6).toString('hex')}`);
  try {
    await mkdir(unfinished, { recursive: true, mode: FOLDER_MODE });
    await writeValues(unfinished, { ...values, [OWNER_FILE]: `${titleOf(owner)}\n` });
    await rename(unfinished, place);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

const writeOwner = (place: string, holder: string): Promise<void> =>
  writeWhole(join(place, OWNER_FILE), `${holder}\n`, FILE_MODE);

async function writeValues(place: string, values: Output['data']): Promise<void> {
  for (const [key, value] of Object.entries(values)) await writeWhole(join(place, key), value, FILE_MODE);
}

/** Undefined where there is nothing. Throws `foreign` for what is not ours. */
async function readOwned(place: string, owner: Resource): Promise<Readonly<Record<string, string>> | undefined> {
  const names = await namesIn(place);
  if (names === undefined) return undefined;
  const holder = await holderOf(place);
  if (holder === undefined && names.length === 0) return undefined;
  if (holder !== titleOf(owner) && holder !== `${RETAINED}${titleOf(owner)}`) {
    const whose = holder === undefined ? 'and was not made by us' : `and belongs to ${holder}`;
    throw new SourceError('foreign', `${place} is there already ${whose}: remove it, or choose another name.`);
  }
  const keys = names.filter((name) => !name.startsWith('.'));
  const values = await Promise.all(keys.map(async (key) => [key, await readFile(join(place, key), 'utf8')] as const));
  return Object.fromEntries(values);
}

async function holderOf(place: string): Promise<string | undefined> {
  try {
    return (await readFile(join(place, OWNER_FILE), 'utf8')).trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

async function namesIn(place: string): Promise<readonly string[] | undefined> {
  try {
    return await readdir(place);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

const sameValues = (one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean =>
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(([key, value]) => other[key] === value);

async function translated<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SourceError || !(error instanceof Error) || codeOf(error) === undefined) throw error;
    throw new SourceError('unavailable', `Cannot ${what}: ${error.message}`, error);
  }
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
