// One process per data folder: a lock of the operating system that ends with its holder, however that ends.
//
// Node has no flock, but its SQLite takes POSIX record locks on a file: the kernel drops them when the process is gone
// (kill -9, too), so there is no stale lock to judge and no pid that could have been given to another program. They also
// hold between containers that share a volume. The lock file itself stays empty.
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { DatabaseSync } from 'node:sqlite';
import { PostgresError } from './failure.ts';
import type { Layout } from './layout.ts';
import { ensurePrivate, writePrivate } from './private-file.ts';

const SQLITE_BUSY = 5;
const SQLITE_CANTOPEN = 14;

export class FolderLock {
  readonly #file: DatabaseSync;

  private constructor(file: DatabaseSync) {
    this.#file = file;
  }

  /** Throws PostgresError when another process holds the folder. */
  static async take(layout: Layout): Promise<FolderLock> {
    // Made by us first: others who could open it could lock it.
    await ensurePrivate(layout.lock);
    const file = openLocked(layout) ?? (await refuse(layout));
    await writePrivate(layout.holder, `pid ${process.pid} on ${hostname()}\n`);
    return new FolderLock(file);
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }
}

function openLocked(layout: Layout): DatabaseSync | undefined {
  let file: DatabaseSync | undefined;
  try {
    file = new DatabaseSync(layout.lock);
    file.exec('begin exclusive');
    return file;
  } catch (error) {
    file?.close();
    const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
    if (code === SQLITE_BUSY) return undefined;
    const reason = code === SQLITE_CANTOPEN ? 'it is not writable' : error instanceof Error ? error.message : 'unknown';
    throw new PostgresError(
      `The lock file ${layout.lock} cannot be used (${reason}): correct its owner and mode, or set ACMERY_DATA_DIR to a folder on a local disk.`,
      error,
    );
  }
}

async function refuse(layout: Layout): Promise<never> {
  const holder = await readFile(layout.holder, 'utf8').catch(() => 'pid not known');
  throw new PostgresError(
    `The data folder ${layout.dataDir} is in use by another acmery process (${holder.trim()}): stop that one, or set ACMERY_DATA_DIR to another folder.`,
  );
}
