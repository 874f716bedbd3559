// A queue of keys: each is worked on by one at a time, and whatever comes for it meanwhile makes one more turn of it.
import { FairOrder } from './fair-order.ts';

type WorkQueueEvents = {
  /** Something was put in; `depth` keys wait. */
  queued(depth: number): void;
  /** A key that waited so long is taken. */
  taken(depth: number, waitedMs: number): void;
  retried(): void;
};

export type WorkQueueOptions = {
  readonly now: () => Date;
  /** Between 0 and 1. */
  readonly random: () => number;
  readonly events: WorkQueueEvents;
};

/**
 * `high` for what has changed; `low` for what is looked at because time has passed; `glance` for what is looked at because
 * we have just begun. What comes later delays nothing that comes before it here, and one that comes twice has the first.
 * Within one of them namespaces take turns.
 */
export type Priority = 'high' | 'low' | 'glance';

type Waiting = { readonly since: Date; readonly priority: Priority };
export type Taken = { readonly key: string; readonly priority: Priority };

const priorities = ['high', 'low', 'glance'] as const satisfies readonly Priority[];

const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 300_000;
const RETRY_JITTER = 0.2;

export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #waiting = new Map<string, Waiting>();
  readonly #order: Readonly<Record<Priority, FairOrder>> = {
    high: new FairOrder(),
    low: new FairOrder(),
    glance: new FairOrder(),
  };
  readonly #running = new Set<string>();
  /** Asked for again while they run. */
  readonly #again = new Map<string, Priority>();
  readonly #later = new Map<string, { readonly dueMs: number; readonly timer: NodeJS.Timeout }>();
  readonly #failures = new Map<string, number>();
  readonly #takers = new Set<() => void>();

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** Now: whatever was planned for later is part of it. */
  add(key: string, priority: Priority = 'high'): void {
    this.#forgetLater(key);
    if (this.#running.has(key)) {
      if (goesBefore(priority, this.#again.get(key))) this.#again.set(key, priority);
      return;
    }
    const waiting = this.#waiting.get(key);
    if (!goesBefore(priority, waiting?.priority)) return;
    if (waiting !== undefined) this.#order[waiting.priority].delete(key);
    this.#waiting.set(key, { since: waiting?.since ?? this.#options.now(), priority });
    this.#order[priority].add(key);
    this.#options.events.queued(this.#waiting.size);
    this.#wakeOne();
  }

  /** Once this time has passed; of several the earliest. */
  addAfter(key: string, delayMs: number): void {
    const dueMs = this.#options.now().getTime() + delayMs;
    const planned = this.#later.get(key);
    if (planned !== undefined && planned.dueMs <= dueMs) return;
    this.#forgetLater(key);
    const timer = setTimeout(() => this.add(key, 'low'), delayMs).unref();
    this.#later.set(key, { dueMs, timer });
  }

  /** Once more, later each time, until it is forgiven. Gives how often it has failed. */
  retry(key: string): number {
    const failures = this.failures(key) + 1;
    this.#failures.set(key, failures);
    const jitter = 1 + RETRY_JITTER * (2 * this.#options.random() - 1);
    this.addAfter(key, Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LONGEST_RETRY_MS) * jitter);
    this.#options.events.retried();
    return failures;
  }

  /** How often in a row it has failed. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** It went well: the next failure is the first again. */
  forgive(key: string): void {
    this.#failures.delete(key);
  }

  /** Nothing is to be done for it any more. */
  forget(key: string): void {
    this.forgive(key);
    this.#forgetLater(key);
  }

  /** The next key, to be given back by `finish`; undefined once the signal aborts. */
  async take(signal: AbortSignal): Promise<Taken | undefined> {
    while (!signal.aborted) {
      const taken = this.#next();
      if (taken !== undefined) return taken;
      await this.#somethingComes(signal);
    }
    return undefined;
  }

  finish(key: string): void {
    this.#running.delete(key);
    const again = this.#again.get(key);
    this.#again.delete(key);
    if (again !== undefined) this.add(key, again);
  }

  /** Drops everything that waits or is planned. */
  clear(): void {
    for (const key of [...this.#later.keys()]) this.#forgetLater(key);
    for (const keys of Object.values(this.#order)) keys.clear();
    this.#waiting.clear();
    this.#again.clear();
    this.#failures.clear();
  }

  #next(): Taken | undefined {
    for (const priority of priorities) {
      const key = this.#order[priority].take();
      if (key === undefined) continue;
      const now = this.#options.now();
      const { since } = this.#waiting.get(key) ?? { since: now };
      this.#waiting.delete(key);
      this.#running.add(key);
      this.#options.events.taken(this.#waiting.size, now.getTime() - since.getTime());
      return { key, priority };
    }
    return undefined;
  }

  #somethingComes(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    this.#takers.add(wake);
    signal.addEventListener('abort', wake, { once: true });
    return promise.finally(() => {
      this.#takers.delete(wake);
      signal.removeEventListener('abort', wake);
    });
  }

  #wakeOne(): void {
    const [wake] = this.#takers;
    if (wake === undefined) return;
    this.#takers.delete(wake);
    wake();
  }

  #forgetLater(key: string): void {
    clearTimeout(this.#later.get(key)?.timer);
    this.#later.delete(key);
  }
}

const goesBefore = (one: Priority, other: Priority | undefined): boolean =>
  other === undefined || priorities.indexOf(one) < priorities.indexOf(other);
