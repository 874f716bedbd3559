// Files that nobody else may read, in one folder: created whole or not at all, never overwritten.

import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, mkdir, open, readdir, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { CaError, KeysUnavailable } from '../core/errors.ts';

const UNFINISHED = '.unfinished-';
const UNFINISHED_FOR_MS = 60_000;
const MAX_BYTES = 131_072;
const OTHERS = 0o077;
// Windows has no such bits.
const hasModes = process.platform !== 'win32';

/** Makes the folder with mode 0700, or checks the mode of the one that is there. */
export async function openPrivateFolder(folder: string): Promise<void> {
  await translated(`make the key folder ${folder}`, () => mkdir(folder, { recursive: true, mode: 0o700 }));
  const { mode } = await translated(`look at the key folder ${folder}`, () => stat(folder));
  refuseOthers(mode, `The key folder ${folder}`, `chmod 700 ${folder}`);
  // What a crash left behind while it was being written; nothing refers to it.
  for (const name of await namesIn(folder)) if (name.startsWith(UNFINISHED)) await removeIfOld(join(folder, name));
}

/** Names of the finished files. */
export async function listPrivateFiles(folder: string): Promise<readonly string[]> {
  return (await namesIn(folder)).filter((name) => !name.startsWith('.')).sort();
}

/** Returns false when the name is taken. What becomes visible under it is whole and on disk. */
export async function createPrivateFile(folder: string, name: string, text: string): Promise<boolean> {
  const unfinished = join(folder, `${UNFINISHED}${randomBytes(8).toString('hex')}`);
  return translated(`write a key file in ${folder}`, async () => {
    try {
      await using file = await open(unfinished, 'wx', 0o600);
      await file.writeFile(text);
      await file.sync();
      // Unlike rename, link never replaces what is there.
      await link(unfinished, join(folder, name));
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    } finally {
      await rm(unfinished, { force: true });
    }
    await syncFolder(folder);
    return true;
  });
}

/** Undefined when there is no such file. Refuses one that others can read, as OpenSSH does. */
export async function readPrivateFile(folder: string, name: string): Promise<string | undefined> {
  const path = join(folder, name);
  return translated(`read the key file ${path}`, async () => {
    try {
      await using file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
      const { mode, size } = await file.stat();
      refuseOthers(mode, `The key file ${path}`, `chmod 600 ${path}`);
      if (size > MAX_BYTES) throw new KeysUnavailable(`The key file ${path} is damaged: it is too large. Restore it.`);
      return await file.readFile('utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  });
}

export async function removePrivateFile(folder: string, name: string): Promise<void> {
  await translated(`remove the key file ${join(folder, name)}`, async () => {
    try {
      await unlink(join(folder, name));
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
    await syncFolder(folder);
  });
}

function refuseOthers(mode: number, what: string, repair: string): void {
  if (!hasModes || (mode & OTHERS) === 0) return;
  const octal = (mode & 0o777).toString(8).padStart(4, '0');
  throw new KeysUnavailable(`${what} is open to other users (mode ${octal}). If nobody copied a key, run: ${repair}`);
}

/** Writing takes milliseconds, so after a minute nobody is still at it. */
async function removeIfOld(path: string): Promise<void> {
  const age = Date.now() - (await stat(path)).mtimeMs;
  if (age > UNFINISHED_FOR_MS) await rm(path, { force: true });
}

/** Without it a crash could forget the new name although the file itself is on disk. */
async function syncFolder(folder: string): Promise<void> {
  if (!hasModes) return;
  await using handle = await open(folder, constants.O_RDONLY);
  await handle.sync();
}

const namesIn = (folder: string): Promise<string[]> =>
  translated(`list the key folder ${folder}`, () => readdir(folder));

const advice: Readonly<Record<string, string>> = {
  EACCES: 'Give its user the right to do so.',
  EPERM: 'Give its user the right to do so.',
  EROFS: 'The disk is read-only; mount it writable.',
  ENOSPC: 'The disk is full; make room.',
  EDQUOT: 'The disk quota is used up; make room.',
  ENOENT: 'The folder is gone; restore it or restart.',
  ENOTDIR: 'A file stands where a folder should be.',
  ELOOP: 'It is a symbolic link; put the file itself there.',
};

async function translated<T>(attempt: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const code = codeOf(error);
    if (error instanceof CaError || code === undefined) throw error;
    throw new KeysUnavailable(`Acmery cannot ${attempt}: ${code}. ${advice[code] ?? 'Check the disk.'}`, {
      cause: error,
    });
  }
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
