// Files of the launcher, some in folders that the cluster's user may write to: root must not be led elsewhere by a link.
import { constants } from 'node:fs';
import { open, rm } from 'node:fs/promises';

type Owner = { readonly uid: number; readonly gid: number };

// Without O_NONBLOCK a pipe put there would keep us waiting for ever.
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const LOCK = constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0);

/** A new file in the place of what is there, for its owner alone, on disk when this returns. */
export async function writePrivate(path: string, text: string, owner?: Owner): Promise<void> {
  await rm(path, { force: true });
  await using file = await open(path, 'wx', 0o600);
  if (owner !== undefined) await file.chown(owner.uid, owner.gid);
  await file.writeFile(text);
  await file.sync();
}

/** Text and owner; undefined where no plain file can be read. */
export async function readPlain(path: string): Promise<(Owner & { readonly text: string }) | undefined> {
  await using file = await open(path, READ).catch(() => undefined);
  const found = await file?.stat();
  if (file === undefined || found === undefined || !found.isFile()) return undefined;
  return { text: await file.readFile('utf8'), uid: found.uid, gid: found.gid };
}

/** Makes an empty file where there is none. Throws ELOOP for a link. */
export async function ensurePrivate(path: string): Promise<void> {
  await using _file = await open(path, LOCK, 0o600);
}
