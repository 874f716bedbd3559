// Leadership among replicas by a Lease: one leads, the others watch its renewals by their own clocks.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Leadership } from '../operator/ports.ts';
import type { Events } from '../telemetry/events.ts';
import { leasePath } from './api-paths.ts';
import type { ClusterRequests } from './client.ts';
import { ClusterError } from './cluster-error.ts';
import { microtime } from './microtime.ts';
import { isReason, orUndefined } from './source-errors.ts';

export type LeaseOptions = {
  readonly cluster: ClusterRequests;
  readonly events: Events;
  readonly namespace: string;
  readonly name: string;
  /** The pod's name. */
  readonly instance: string;
  readonly timing?: LeaseTiming;
};

export type LeaseTiming = {
  /** How long a holder that is not heard of still leads. */
  readonly leaseMs: number;
  /** A holder that could not renew for so long stops leading, well before others may begin. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
};

const usualTiming: LeaseTiming = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };
const JITTER = 1.2;
const RELEASE_MS = 5_000;
/** Whoever stops leading does so in less; twice the deadline of a renewal. */
const STUCK_DEADLINES = 2;

type LeaseSpec = {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
};
type Lease = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion?: string };
  readonly spec?: LeaseSpec;
};

export type LeaseLeadership = Leadership & {
  /** Throws ClusterError `NotLeading` where others may lead, also before it is noticed here. */
  requireHeld(): void;
};

export function leaseLeadership(options: LeaseOptions): LeaseLeadership {
  const { events, name, timing = usualTiming } = options;
  let leading: Holder | undefined;
  return {
    requireHeld() {
      if (leading?.isHeld()) return;
      throw new ClusterError(
        0,
        'NotLeading',
        `The lease ${name} is not held, or was not renewed in time: others may lead.`,
      );
    },
    requireRenewed() {
      const renewedAgoMs = leading?.heldForMs() ?? 0;
      if (renewedAgoMs <= STUCK_DEADLINES * timing.renewDeadlineMs) return;
      const seconds = Math.round(renewedAgoMs / 1_000);
      throw new Error(`this process works as the leader, and could not renew the lease ${name} for ${seconds} s`);
    },
    async lead(work, signal) {
      const holder = new Holder(options, timing);
      events.leadershipStandby({ lease: name });
      while (!signal.aborted) {
        if (await holder.take(signal)) {
          leading = holder;
          await leadWith(holder, options, timing, work, signal).finally(() => {
            leading = undefined;
          });
        }
        await sleep(signal.aborted ? 0 : holder.waitMs(), undefined, { signal }).catch(() => undefined);
      }
    },
  };
}

async function leadWith(
  holder: Holder,
  { events, name }: LeaseOptions,
  timing: LeaseTiming,
  work: (leading: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  events.leadershipTaken({ lease: name, identity: holder.identity });
  const lost = new AbortController();
  const ended = new AbortController();
  // Renewals go on while the work ends, so that nobody else begins before.
  const renewing = renewUntil(holder, timing, ended.signal).then(
    (isHeld) => {
      if (!isHeld) lost.abort(new Error(`The lease ${name} is lost.`));
    },
    (error: unknown) => {
      events.internalError({ where: `lease ${name}`, error });
      lost.abort(error);
    },
  );
  try {
    await work(AbortSignal.any([signal, lost.signal]));
  } finally {
    ended.abort();
    await renewing;
    if (!lost.signal.aborted) await holder.release();
    events.leadershipEnded({ lease: name, why: lost.signal.aborted ? 'lost' : 'released' });
  }
}

/** True when it was ended, false when it could no longer renew. */
async function renewUntil(holder: Holder, { retryMs }: LeaseTiming, ended: AbortSignal) {
  for (;;) {
    await sleep(retryMs, undefined, { signal: ended }).catch(() => undefined);
    if (ended.aborted) return true;
    if (!(await holder.renew())) return false;
  }
}

class Holder {
  readonly identity: string;
  readonly #options: LeaseOptions;
  readonly #timing: LeaseTiming;
  /** As it was last seen, and since when it has looked so on this machine's clock. */
  #seen: Lease | undefined;
  #seenAtMs = 0;
  /** When the last successful renewal was sent. */
  #renewedAtMs = 0;
  /** The same on the clock that goes on while a machine is suspended; it may be set, which costs no more than the lease. */
  #renewedAt = 0;

  constructor(options: LeaseOptions, timing: LeaseTiming) {
    this.identity = `${options.instance}_${randomUUID()}`;
    this.#options = options;
    this.#timing = timing;
  }

  heldForMs(): number {
    return performance.now() - this.#renewedAtMs;
  }

  /** False where another one may begin: also in a process that was stopped for long, before anything has told it. */
  isHeld(): boolean {
    return Math.max(this.heldForMs(), Date.now() - this.#renewedAt) < this.#timing.renewDeadlineMs;
  }

  /** Until it is worth trying again: not the same for all who wait, and not later than the lease of a dead holder ends. */
  waitMs(): number {
    const { retryMs } = this.#timing;
    const jittered = (retryMs / JITTER) * (1 + (JITTER - 1) * Math.random());
    const endsInMs = this.#seenAtMs + durationMs(this.#seen) - performance.now();
    return endsInMs > 0 ? Math.min(jittered, endsInMs) : jittered;
  }

  /** Whether it is ours now. */
  async take(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#look(signal);
      return this.#isFree() && (await this.#write(signal)) && this.isHeld();
    } catch (error) {
      if (signal.aborted) return false;
      this.#failed(error);
      return false;
    }
  }

  /** False when it is another's, or could not be renewed before the deadline. Reads only where the write fails. */
  async renew(): Promise<boolean> {
    const { renewDeadlineMs, retryMs } = this.#timing;
    for (;;) {
      const leftMs = renewDeadlineMs - this.heldForMs();
      if (leftMs <= 0) return false;
      const signal = AbortSignal.timeout(Math.ceil(leftMs));
      try {
        // What was sent before this process was stopped may be answered after others have begun.
        if (await this.#write(signal)) return this.isHeld();
        await this.#look(signal);
        if (!this.#isOurs()) return false;
      } catch (error) {
        this.#failed(error);
        await sleep(Math.min(retryMs, leftMs));
      }
    }
  }

  /** Others need not wait for it to expire. */
  async release(): Promise<void> {
    if (this.#seen === undefined) return;
    const spec = { ...this.#seen.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microtime(new Date()) };
    try {
      await this.#put({ ...this.#seen, spec }, AbortSignal.timeout(RELEASE_MS));
    } catch (error) {
      this.#failed(error);
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { cluster, namespace, name } = this.#options;
    const path = leasePath(namespace, name);
    const timeoutMs = this.#requestMs();
    this.#see(await orUndefined(cluster.request<Lease>({ method: 'GET', path, signal, timeoutMs })));
  }

  /** False when somebody else was faster. */
  async #write(signal: AbortSignal): Promise<boolean> {
    const atMs = performance.now();
    const at = new Date();
    const now = microtime(at);
    const before = this.#seen?.spec;
    const isOurs = this.#isOurs();
    const spec: LeaseSpec = {
      holderIdentity: this.identity,
      leaseDurationSeconds: Math.max(1, Math.round(this.#timing.leaseMs / 1_000)),
      acquireTime: isOurs ? (before?.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: (before?.leaseTransitions ?? 0) + (isOurs || before === undefined ? 0 : 1),
    };
    const { namespace, name } = this.#options;
    const lease = this.#seen ?? {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace, name },
    };
    try {
      await this.#put({ ...lease, spec }, signal);
      this.#renewedAtMs = atMs;
      this.#renewedAt = at.getTime();
      return true;
    } catch (error) {
      if (isReason(error, 'Conflict') || isReason(error, 'AlreadyExists')) return false;
      throw error;
    }
  }

  async #put(lease: Lease, signal: AbortSignal): Promise<void> {
    const { cluster, namespace, name } = this.#options;
    const timeoutMs = this.#requestMs();
    const isNew = lease.metadata.resourceVersion === undefined;
    const path = leasePath(namespace, isNew ? undefined : name);
    const method = isNew ? 'POST' : 'PUT';
    this.#see(await cluster.request<Lease>({ method, path, body: lease, signal, timeoutMs }));
  }

  #see(lease: Lease | undefined): void {
    if (!isDeepStrictEqual(lease?.spec, this.#seen?.spec)) this.#seenAtMs = performance.now();
    this.#seen = lease;
  }

  #isOurs(): boolean {
    return this.#seen?.spec?.holderIdentity === this.identity;
  }

  /** Times that others wrote are those of their clocks, and are not looked at. */
  #isFree(): boolean {
    const holder = this.#seen?.spec?.holderIdentity;
    return !holder || this.#isOurs() || performance.now() - this.#seenAtMs >= durationMs(this.#seen);
  }

  #requestMs(): number {
    return Math.ceil(this.#timing.renewDeadlineMs / 2);
  }

  #failed(error: unknown): void {
    const isExpected =
      error instanceof ClusterError || (error instanceof DOMException && error.name === 'TimeoutError');
    if (!isExpected) throw error;
    this.#options.events.leaseFailed({ lease: this.#options.name, reason: error.message });
  }
}

const durationMs = (lease: Lease | undefined): number => (lease?.spec?.leaseDurationSeconds ?? 0) * 1_000;
