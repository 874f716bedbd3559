// Writes that wait for no disk go behind one another over one connection, as reads do (shared-connection.ts). What waits for
// a lock there holds up all behind it, so nobody is sent behind those that take long.
import type pg from 'pg';
import type { Db } from './database.ts';
import { NotConnected } from './database-error.ts';
import type { Sender } from './statement.ts';
import type { UnderWayNow } from './under-way.ts';

/** Many times what such a write takes, and no more than a turn of a busy event loop. */
const HELD_UP_MS = 50;
/** Before a connection that was not to be had is tried for again. */
const REOPEN_MS = 1_000;

export class QuickWrites implements Sender {
  readonly #shared: Sender & { readonly underWay: UnderWayNow };
  readonly #pool: Sender;
  readonly #nowMs: () => number;
  #notOpenedAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    shared: Sender & { readonly underWay: UnderWayNow },
    pool: Sender,
    nowMs: () => number = () => performance.now(),
  ) {
    this.#shared = shared;
    this.#pool = pool;
    this.#nowMs = nowMs;
  }

  async query(text: string, values: unknown[]): Promise<pg.QueryResult> {
    // Also by many that each take a little too long.
    if (this.#shared.underWay.oldestMs > HELD_UP_MS || this.#nowMs() - this.#notOpenedAtMs < REOPEN_MS)
      return this.#pool.query(text, values);
    try {
      return await this.#shared.query(text, values);
    } catch (error) {
      // What may have been sent is not sent again.
      if (!(error instanceof NotConnected)) throw error;
      this.#notOpenedAtMs = this.#nowMs();
    }
    // It may have connections still, where the server gives no more; else it says that there are none.
    return this.#pool.query(text, values);
  }
}

/** Statements on this handle that are quick go to another one. */
export const writeQuicklyOn = (db: Db, handle: Db): void => void quickHandles.set(db, handle);

/** For a statement that stands alone and commits asynchronously. One of a transaction stays in it. */
export const quickly = (db: Db): Db => quickHandles.get(db) ?? db;

const quickHandles = new WeakMap<Db, Db>();
