// Everything below a folder, so that two folders can be held against each other.
import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';

export type Found = {
  /** Below the folder, with a slash before it. */
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  readonly bytes: number;
  readonly seconds: number;
  /** Digest of a file, target of a link. */
  readonly content: string | undefined;
};

export async function filesBelow(root: string): Promise<readonly Found[]> {
  const paths = await readdir(root, { recursive: true });
  return Promise.all(paths.sort().map((path) => describe(root, path)));
}

async function describe(root: string, path: string): Promise<Found> {
  const at = join(root, path);
  const found = await lstat(at);
  const { mode, uid, mtimeMs } = found;
  const content = found.isFile()
    ? createHash('sha256')
        .update(await readFile(at))
        .digest('hex')
    : found.isSymbolicLink()
      ? await readlink(at)
      : undefined;
  return {
    path: `/${path}`,
    mode: mode & 0o7777,
    uid,
    bytes: found.isFile() ? found.size : 0,
    seconds: mtimeMs / 1_000,
    content,
  };
}
