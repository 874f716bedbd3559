// What a load sees while its window is open: how long each kind of thing took, what failed, and who used the processor.
import { type Usage, usageOf } from '../process-usage.ts';

export type Percentiles = {
  readonly count: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
};

export type Watched = 'server' | 'postgres';

export type Seen = {
  readonly seconds: number;
  /** By kind of request, and of the whole job under its own name. */
  readonly kinds: Readonly<Record<string, Percentiles>>;
  /** How often each thing went wrong, in the window or not. */
  readonly failures: Readonly<Record<string, number>>;
  /** Seconds of processor time; nobody's where there is no /proc. */
  readonly cpu: Readonly<Partial<Record<Watched | 'load', number>>>;
  readonly rssMb: Readonly<Partial<Record<Watched, number>>>;
};

type Pids = Readonly<Partial<Record<Watched, number>>>;
type Moment = { readonly ms: number; readonly own: number; readonly others: ReadonlyMap<string, Usage> };

export class Tally {
  readonly #pids: Pids;
  readonly #times = new Map<string, number[]>();
  readonly #failures = new Map<string, number>();
  #opened: Moment | undefined;
  #closed: Moment | undefined;

  constructor(pids: Pids) {
    this.#pids = pids;
  }

  open(): void {
    this.#opened ??= this.#now();
  }

  close(): void {
    if (this.#opened !== undefined) this.#closed ??= this.#now();
  }

  took(kind: string, ms: number): void {
    if (this.#opened === undefined || this.#closed !== undefined) return;
    const times = this.#times.get(kind);
    if (times === undefined) this.#times.set(kind, [ms]);
    else times.push(ms);
  }

  failed(reason: string): void {
    this.#failures.set(reason, (this.#failures.get(reason) ?? 0) + 1);
  }

  seen(): Seen {
    const [opened, closed] = [this.#opened, this.#closed];
    if (opened === undefined || closed === undefined) throw new Error('The load ended before its window was closed.');
    const used = [...closed.others].map(([name, { cpuSeconds }]) => [
      name,
      cpuSeconds - (opened.others.get(name)?.cpuSeconds ?? 0),
    ]);
    return {
      seconds: (closed.ms - opened.ms) / 1_000,
      kinds: Object.fromEntries([...this.#times].map(([kind, times]) => [kind, percentiles(times)])),
      failures: Object.fromEntries(this.#failures),
      cpu: { ...Object.fromEntries(used), load: closed.own - opened.own },
      rssMb: Object.fromEntries([...closed.others].map(([name, { rssMb }]) => [name, rssMb])),
    };
  }

  #now(): Moment {
    const { user, system } = process.cpuUsage();
    const others = new Map<string, Usage>();
    for (const [name, pid] of Object.entries(this.#pids)) {
      const usage = usageOf(pid);
      if (usage !== undefined) others.set(name, usage);
    }
    return { ms: performance.now(), own: (user + system) / 1e6, others };
  }
}

function percentiles(times: readonly number[]): Percentiles {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
  return { count: sorted.length, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) };
}
