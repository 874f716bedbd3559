// Waits between tries that failed: longer each time, never the same for two processes, short again after good health.

const SHORTEST_MS = 800;
const LONGEST_MS = 30_000;
const FACTOR = 2;
const JITTER = 0.5;
const HEALTHY_AFTER_MS = 120_000;

export class BackOff {
  readonly #random: () => number;
  readonly #shortestMs: number;
  #failures = 0;
  #failedAtMs = 0;

  constructor({ random = Math.random, shortestMs = SHORTEST_MS } = {}) {
    this.#random = random;
    this.#shortestMs = shortestMs;
  }

  /** How many tries have failed since the last good health. */
  get failures(): number {
    return this.#failures;
  }

  /** Counts a failure; how long to wait before the next try, and at least as long as the server asks. */
  failed(nowMs: number, askedMs = 0): number {
    // The waits themselves are no sign of health.
    if (nowMs - this.#failedAtMs > HEALTHY_AFTER_MS) this.#failures = 0;
    const baseMs = Math.min(LONGEST_MS, this.#shortestMs * FACTOR ** this.#failures);
    const waitMs = Math.max(askedMs, Math.min(LONGEST_MS, baseMs * (1 + JITTER * this.#random())));
    this.#failures++;
    this.#failedAtMs = nowMs + waitMs;
    return waitMs;
  }
}
