// Where the launcher keeps things below the data folder.
import { join } from 'node:path';

export type Layout = {
  readonly dataDir: string;
  /** Everything of the launcher; only the owner enters. */
  readonly home: string;
  /** The Postgres data directory. */
  readonly cluster: string;
  /** A cluster being made; becomes `cluster` by one rename. */
  readonly staging: string;
  readonly password: string;
  readonly lock: string;
  /** Who holds the lock, as text for people. */
  readonly holder: string;
  /** Copy of the embedded binaries, where they cannot run in place. */
  readonly binaries: string;
};

export function layoutOf(dataDir: string): Layout {
  const home = join(dataDir, 'postgres');
  return {
    dataDir,
    home,
    cluster: join(home, 'cluster'),
    staging: join(home, 'cluster.new'),
    password: join(home, 'password'),
    lock: join(home, 'lock'),
    holder: join(home, 'holder'),
    binaries: join(home, 'binaries'),
  };
}
