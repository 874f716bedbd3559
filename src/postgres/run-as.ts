// As whom the Postgres programs run. Postgres refuses to run as root, so root hands it to a user without rights.
import { lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Layout } from './layout.ts';

export type RunAs = {
  /** Absent for an ordinary user, who runs Postgres as himself. */
  readonly user?: { readonly uid: number; readonly gid: number };
};

const NOBODY = 65_534;

/** The user who owns what is there already; `nobody` for what is new or belongs to root. */
export async function chooseUser(layout: Layout): Promise<RunAs> {
  if (process.getuid?.() !== 0) return {};
  const [cluster, home] = await Promise.all([layout.cluster, layout.home].map((path) => lstat(path).catch(() => null)));
  const owner = [cluster, home].find((folder) => folder && folder.uid !== 0);
  const user = owner ? { uid: owner.uid, gid: owner.gid } : { uid: NOBODY, gid: NOBODY };
  if (cluster?.uid === 0) await giveTree(layout.cluster, user);
  return { user };
}

/**
 * The path by which a program finds the data folder, which `spawnAs` hands it as descriptor 3. The data may lie below a
 * folder that only root may enter, where the user without rights cannot walk from `/`; the
 * descriptor leads straight there, for Postgres and for each process that it forks. So the data stays in the data folder,
 * where backups and volumes expect it, whoever runs us.
 */
export const dataPath = (runAs: RunAs, folder: string) => (needsDescriptor(runAs) ? '/proc/self/fd/3' : folder);

export const needsDescriptor = (runAs: RunAs) => runAs.user !== undefined && process.platform === 'linux';

/** Gives a folder to the user that Postgres runs as; of a link it gives the link, not what it leads to. */
export async function giveTo(runAs: RunAs, path: string): Promise<void> {
  if (runAs.user !== undefined) await lchown(path, runAs.user.uid, runAs.user.gid);
}

// The folder last: once it is his he may put links to files of root in the places of those that are still to be given.
async function giveTree(folder: string, user: { readonly uid: number; readonly gid: number }): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await giveTree(path, user);
    else if (entry.isFile()) await lchown(path, user.uid, user.gid);
  }
  await lchown(folder, user.uid, user.gid);
}
