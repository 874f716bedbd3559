// The Unix socket of our server, in the data directory of the cluster, which its user alone enters: a statement by it costs
// less than one over the loopback interface, and nobody else can listen in its place.
import { readdir, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** As the server is told: it works in the data directory, so that the length of its path does not matter to it. */
export const socketDirectories = process.platform === 'win32' ? '' : '.';

/** Of a path to a socket; systems differ, and this is the least. */
const MOST_BYTES = 103;
const PREFIX = '.s.PGSQL.';

/**
 * Where a client finds the socket of the server on this port, from the root on: a relative path would be the name of a host.
 * Undefined where there is none, or its path is too long.
 */
export async function socketFolder(cluster: string, port: number): Promise<string | undefined> {
  const folder = resolve(cluster);
  const socket = join(folder, `${PREFIX}${port}`);
  if (Buffer.byteLength(socket) > MOST_BYTES) return undefined;
  const found = await stat(socket).catch(() => undefined);
  return found?.isSocket() === true ? folder : undefined;
}

/** Of a server that was killed. Its lock file names a process, whose number another program may have by now. */
export async function removeSockets(cluster: string): Promise<void> {
  const names = (await readdir(cluster)).filter((name) => name.startsWith(PREFIX));
  await Promise.all(names.map((name) => rm(join(cluster, name), { force: true })));
}
