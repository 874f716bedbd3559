// Transactions that are run again when Postgres asks for it.
import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { IsolationLevel, Kysely, Transaction } from 'kysely';
import { DatabaseError } from './database-error.ts';

export type TransactionOptions = {
  readonly isolation?: IsolationLevel;
};

const MOST_ATTEMPTS = 8;
const FIRST_PAUSE_MS = 10;

/** serialization_failure and deadlock_detected: nothing was done, and the same may succeed now. */
const repeatable = new Set(['40001', '40P01']);

/** Between 0 and 1. */
export const secureRandom = () => randomInt(2 ** 32) / 2 ** 32;

/**
 * Runs `work` in a transaction, and again from its start after a serialization failure or a deadlock; so it must have no
 * effect but through the transaction. Throws what the last attempt threw.
 */
export async function runTransaction<Schema, Result>(
  db: Kysely<Schema>,
  work: (tx: Transaction<Schema>) => Promise<Result>,
  options: TransactionOptions,
  random: () => number,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const transaction = db.transaction();
      const { isolation } = options;
      return await (isolation === undefined ? transaction : transaction.setIsolationLevel(isolation)).execute(work);
    } catch (error) {
      const again = error instanceof DatabaseError && repeatable.has(error.code) && attempt < MOST_ATTEMPTS;
      if (!again) throw error;
      // Full jitter: those that met once must not meet again.
      await pause(random() * FIRST_PAUSE_MS * 2 ** attempt);
    }
  }
}
