// Writes that wait for no disk go behind one another over one connection, as reads do (shared-connection.ts). What waits for
// a lock there holds up all behind it, so nobody is sent behind one that takes long.
import type pg from 'pg';
import type { Db } from './database.ts';

type Sender = { query(text: string, values: unknown[]): Promise<pg.QueryResult> };

/** Many times what such a write takes. */
const HELD_UP_MS = 25;

export class QuickWrites implements Sender {
  readonly #shared: Sender;
  readonly #pool: Sender;
  readonly #nowMs: () => number;
  #underWay = 0;
  /** Since when the one that is answered next is the first. */
  #firstSinceMs = 0;

  constructor(shared: Sender, pool: Sender, nowMs = () => performance.now()) {
    this.#shared = shared;
    this.#pool = pool;
    this.#nowMs = nowMs;
  }

  async query(text: string, values: unknown[]): Promise<pg.QueryResult> {
    if (this.#isHeldUp()) return this.#pool.query(text, values);
    if (this.#underWay++ === 0) this.#firstSinceMs = this.#nowMs();
    try {
      return await this.#shared.query(text, values);
    } finally {
      this.#underWay--;
      this.#firstSinceMs = this.#nowMs();
    }
  }

  #isHeldUp(): boolean {
    return this.#underWay > 0 && this.#nowMs() - this.#firstSinceMs > HELD_UP_MS;
  }
}

/** Statements on this handle that are quick go to another one. */
export const writeQuicklyOn = (db: Db, handle: Db): void => void quickHandles.set(db, handle);

/** For a statement that stands alone and commits asynchronously. One of a transaction stays in it. */
export const quickly = (db: Db): Db => quickHandles.get(db) ?? db;

const quickHandles = new WeakMap<Db, Db>();
