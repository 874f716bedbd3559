// Compares this machine's clock with the database's: what is signed by a wrong clock stays wrong for years.
import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseUnavailable } from '../store/database-error.ts';
import type { Ca } from './ca.ts';
import { CaError } from './errors.ts';
import type { Clock } from './ports.ts';

const NOTED_SKEW_MS = 2_000;
const TOLERATED_SKEW_MS = 30_000;
const RETRY_MS = 10_000;

/** What is compared: a clock that nobody has checked, with the database's. */
type Compared = Pick<Ca, 'database' | 'events'> & { readonly clock: Pick<Clock, 'now'> };

export class ClockWatch implements Clock {
  readonly #ca: Compared;
  /** Our clock minus the database's, when they were last compared. */
  #skewMs: number | undefined;

  constructor(ca: Compared) {
    this.#ca = ca;
  }

  now(): Date {
    return this.#ca.clock.now();
  }

  signingTime(): Date {
    const skewMs = this.#skewMs ?? 0;
    if (Math.abs(skewMs) > TOLERATED_SKEW_MS)
      throw new CaError('unavailable', `Nothing is signed for the moment: ${apart(skewMs)}.`);
    return this.now();
  }

  /** Returns by how much our clock is ahead of the database's. */
  async compare(): Promise<number> {
    const { database, clock, events } = this.#ca;
    const skewMs = Math.round(-(await database.clockOffsetMs(clock)));
    this.#skewMs = skewMs;
    if (Math.abs(skewMs) < NOTED_SKEW_MS) events.clockCompared({ skewMs });
    else events.clockSkewSeen({ skewMs, toleranceMs: TOLERATED_SKEW_MS });
    return skewMs;
  }

  /** Throws while the clocks are further apart than anything may be signed with, as far as the last comparison tells. */
  async check(): Promise<void> {
    const skewMs = this.#skewMs ?? (await this.compare());
    if (Math.abs(skewMs) <= TOLERATED_SKEW_MS) return;
    throw new Error(apart(skewMs));
  }

  /** Compares until the clocks agree well enough to sign by; throws the reason of the signal when that ends the wait. */
  async agreement(signal: AbortSignal, retryMs = RETRY_MS): Promise<void> {
    while (!(await this.#agrees())) await pause(retryMs, undefined, { signal });
  }

  async #agrees(): Promise<boolean> {
    try {
      return Math.abs(await this.compare()) <= TOLERATED_SKEW_MS;
    } catch (error) {
      if (error instanceof DatabaseUnavailable) return false;
      throw error;
    }
  }
}

const apart = (skewMs: number): string =>
  `this machine's clock is ${Math.round(Math.abs(skewMs) / 1_000)} s ${skewMs > 0 ? 'ahead of' : 'behind'} the database's; ` +
  `set both by NTP (${TOLERATED_SKEW_MS / 1_000} s are tolerated)`;
