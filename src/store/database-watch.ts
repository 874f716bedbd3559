// Whether the database answers: told once when it goes away, and once when it is back.
import type { Events } from '../telemetry/events.ts';
import { DatabaseUnavailable } from './database-error.ts';

export class DatabaseWatch {
  readonly #events: Events;
  #awaySince: number | undefined;

  constructor(events: Events) {
    this.#events = events;
  }

  /** Does what asks the database, and learns from how that ends. */
  async observe<Result>(ask: () => Promise<Result>): Promise<Result> {
    try {
      const result = await ask();
      this.#answered();
      return result;
    } catch (error) {
      if (error instanceof DatabaseUnavailable) this.#lost(error);
      throw error;
    }
  }

  #answered(): void {
    this.#events.databaseAnswered();
    if (this.#awaySince !== undefined) this.#events.databaseRecovered({ awayMs: performance.now() - this.#awaySince });
    this.#awaySince = undefined;
  }

  #lost(error: DatabaseUnavailable): void {
    if (this.#awaySince !== undefined) return;
    this.#awaySince = performance.now();
    this.#events.databaseLost({ error });
  }
}
