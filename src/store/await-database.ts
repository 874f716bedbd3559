// Waits until the database can be worked with: it answers, and its schema is the one that this program knows.
import { setTimeout as pause } from 'node:timers/promises';
import type { Events } from '../telemetry/events.ts';
import { openDatabase } from './database.ts';
import { DatabaseUnavailable } from './database-error.ts';
import type { DatabaseWatch } from './database-watch.ts';
import { migrate } from './migrate.ts';
import { migrations } from './migrations/index.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Tries with back-off for as long as the database is away, and migrates it. Throws SchemaTooNew, which waiting does not
 * heal, and the reason of the signal when that ends the wait.
 */
export async function awaitDatabase(
  url: string,
  watch: DatabaseWatch,
  events: Events,
  signal: AbortSignal,
): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    signal.throwIfAborted();
    try {
      for (const name of await watch.observe(() => migrateAt(url, signal))) events.migrationApplied({ name });
      return;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
    }
    await pause(pauseMs, undefined, { signal });
  }
}

/**
 * On a connection of its own, without the time limit of ordinary statements: an index on a large table takes long. The
 * signal ends the wait for another process that migrates.
 */
export async function migrateAt(url: string, signal?: AbortSignal): Promise<readonly string[]> {
  await using database = openDatabase({ url, maxConnections: 1, statementTimeoutMs: 0 });
  return await migrate(database.db, migrations, signal);
}
