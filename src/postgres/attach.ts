// Finds the Postgres that another process of ours runs in a data folder, so that commands work beside `serve`.
import { join } from 'node:path';
import { localUrl, readPassword } from './initialise.ts';
import { layoutOf } from './layout.ts';
import { readPlain } from './private-file.ts';
import { takesLogins } from './readiness.ts';
import { socketFolder } from './socket.ts';

// postmaster.pid: pid, data folder, start time, port, ...
const PORT_LINE = 3;

/** The URL of the server that runs there now; undefined when none does. */
export async function runningPostgresUrl(dataDir: string): Promise<string | undefined> {
  const layout = layoutOf(dataDir);
  const file = await readPlain(join(layout.cluster, 'postmaster.pid'));
  const port = Number(file?.text.split('\n')[PORT_LINE]);
  if (!(port > 0) || !(await takesLogins(port))) return undefined;
  return localUrl(port, await readPassword(layout), await socketFolder(layout.cluster, port));
}
