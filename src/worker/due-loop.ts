// One task's loop: claims what is due, runs it, and waits until something becomes due or there is room for more.
import type { Ca } from '../core/ca.ts';
import type { Place } from '../core/own-worker.ts';
import type { Claim } from '../core/removed-keys.ts';
import type { DueTask } from './tasks.ts';

/** How long a notification can be missing. */
const POLL_MS = 1_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 300_000;
const LONGEST_POLL_MS = 30_000;
/** Rows of one claim: a burst is spread over the workers. */
const BATCH = 20;

export class DueLoop implements AsyncDisposable {
  readonly #ca: Ca;
  readonly #task: DueTask;
  readonly #running = new Set<Promise<unknown>>();
  readonly #ended: Promise<void>;
  #next = Promise.withResolvers<void>();
  #soon: NodeJS.Timeout | undefined;
  #wasNotifiedAgain = false;
  #failures = 0;
  readonly #stopping = new AbortController();
  /** Rows that are being claimed. */
  #asked = 0;
  /** More may be due than there was room for. */
  #isFull = false;

  constructor(ca: Ca, task: DueTask) {
    this.#ca = ca;
    this.#task = task;
    this.#ended = this.#loop();
  }

  get name(): string {
    return this.#task.name;
  }

  /** Something may be due. */
  wake(): void {
    this.#next.resolve();
  }

  /** Something may be due soon. */
  notified(): void {
    const { notifiedAheadMs = 0 } = this.#task;
    if (notifiedAheadMs === 0) this.wake();
    else if (this.#soon === undefined) this.#soon = setTimeout(() => this.#wakeSoon(), notifiedAheadMs);
    else this.#wasNotifiedAgain = true;
  }

  /** Room for a row that somebody has found; undefined where there is none. */
  place(): Place<Claim> | undefined {
    if (this.#stopping.signal.aborted || this.#room() <= 0) return undefined;
    return {
      leaseMs: this.#task.leaseMs,
      hold: (work) => {
        const held = work(this.#stopping.signal);
        // Who asked for it hears of its failure.
        this.#start(held.catch(() => undefined));
        return held;
      },
      run: (claim) => this.#run(claim),
    };
  }

  /** Claims nothing more, and waits for what runs. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#soon);
    this.wake();
    await this.#ended;
    await Promise.all(this.#running);
  }

  #wakeSoon(): void {
    this.#soon = undefined;
    this.wake();
    // What was notified meanwhile is due a little later.
    if (this.#wasNotifiedAgain) this.notified();
    this.#wasNotifiedAgain = false;
  }

  async #loop(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      // Made anew before the claim: who wakes us during it is not missed.
      this.#next = Promise.withResolvers();
      const room = Math.min(BATCH, this.#room());
      this.#isFull = room <= 0;
      this.#asked = Math.max(room, 0);
      const claims = room > 0 ? await this.#claim(room) : [];
      this.#asked = 0;
      for (const claim of claims) this.#start(this.#run(claim));
      if (claims.length === room && room > 0) continue;
      const timer = setTimeout(() => this.wake(), Math.min(POLL_MS * 2 ** this.#failures, LONGEST_POLL_MS));
      await this.#next.promise;
      clearTimeout(timer);
    }
  }

  async #claim(limit: number): Promise<readonly Claim[]> {
    try {
      const claims = await this.#task.claim(this.#ca, limit, this.#task.leaseMs);
      this.#failures = 0;
      return claims;
    } catch (error) {
      this.#failures += 1;
      this.#ca.events.taskFailed({ task: this.#task.name, attempt: this.#failures, error });
      return [];
    }
  }

  #room(): number {
    return this.#task.concurrency - this.#running.size - this.#asked;
  }

  #start(work: Promise<unknown>): void {
    const run = work.finally(() => {
      this.#running.delete(run);
      if (this.#isFull) this.wake();
    });
    this.#running.add(run);
  }

  async #run(claim: Claim): Promise<void> {
    const { name } = this.#task;
    try {
      await this.#task.run(this.#ca, claim, this.#stopping.signal);
      this.#ca.events.taskDone({ task: name });
    } catch (error) {
      this.#ca.events.taskFailed({ task: name, id: claim.id, attempt: claim.attempt, error });
      await this.#postpone(claim);
    }
  }

  async #postpone(claim: Claim): Promise<void> {
    const waitMs = Math.min(FIRST_RETRY_MS * 2 ** (claim.attempt - 1), LONGEST_RETRY_MS);
    try {
      await this.#task.postpone(this.#ca, claim, new Date(this.#ca.clock.now().getTime() + waitMs));
    } catch (error) {
      // The row is due again when its lease ends.
      this.#ca.events.taskFailed({ task: this.#task.name, id: claim.id, attempt: claim.attempt, error });
    }
  }
}
