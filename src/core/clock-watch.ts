// Compares this machine's clock with the database's: what is signed by a wrong clock stays wrong for years.
import type { Ca } from './ca.ts';

const NOTED_SKEW_MS = 2_000;
const TOLERATED_SKEW_MS = 30_000;

export class ClockWatch {
  readonly #ca: Ca;
  #skewMs = 0;

  constructor(ca: Ca) {
    this.#ca = ca;
  }

  /** Our clock minus the database's. */
  get skewMs(): number {
    return this.#skewMs;
  }

  async compare(): Promise<void> {
    const { database, clock, events } = this.#ca;
    this.#skewMs = Math.round(-(await database.clockOffsetMs(clock)));
    if (Math.abs(this.#skewMs) < NOTED_SKEW_MS) events.clockCompared({ skewMs: this.#skewMs });
    else events.clockSkewSeen({ skewMs: this.#skewMs, toleranceMs: TOLERATED_SKEW_MS });
  }

  /** Throws while the clocks are further apart than anything may be signed with. */
  check(): void {
    if (Math.abs(this.#skewMs) <= TOLERATED_SKEW_MS) return;
    const seconds = Math.round(Math.abs(this.#skewMs) / 1_000);
    throw new Error(
      `this machine's clock is ${seconds} s ${this.#skewMs > 0 ? 'ahead of' : 'behind'} the database's; ` +
        `set both by NTP (${TOLERATED_SKEW_MS / 1_000} s are tolerated)`,
    );
  }
}
