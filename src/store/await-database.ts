// Waits until the database can be worked with: it answers, and its schema is the one that this program knows.
import { setTimeout as pause } from 'node:timers/promises';
import type { Events } from '../telemetry/events.ts';
import type { Database } from './database.ts';
import { DatabaseUnavailable } from './database-error.ts';
import { migrate } from './migrate.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

/**
 * Tries with back-off for as long as the database is away, and migrates it. Throws SchemaTooNew, which waiting does not
 * heal, and the reason of the signal when that ends the wait.
 */
export async function awaitDatabase(database: Database, events: Events, signal?: AbortSignal): Promise<void> {
  let awaySince: number | undefined;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    try {
      for (const name of await migrate(database.db)) events.migrationApplied({ name });
      if (awaySince !== undefined) events.databaseRecovered({ awayMs: performance.now() - awaySince });
      return;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
      if (awaySince === undefined) events.databaseLost({ error });
      awaySince ??= performance.now();
    }
    await pause(pauseMs, undefined, signal === undefined ? {} : { signal });
  }
}
