// Tells what happened to custom resources as Kubernetes events: the first of a kind as an event, the next as its series.
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventSink, ObjectEvent } from '../operator/ports.ts';
import { API_GROUP, type Resource } from '../resources/resource.ts';
import type { Events } from '../telemetry/events.ts';
import { eventsPath, MERGE } from './api-paths.ts';
import { BackOff } from './back-off.ts';
import type { Cluster } from './client.ts';
import { ClusterError } from './cluster-error.ts';
import { microtime } from './microtime.ts';
import { isMissing } from './source-errors.ts';

type RecorderOptions = {
  readonly cluster: Cluster;
  readonly events: Events;
  /** The pod's name. */
  readonly instance: string;
  /** Whether a namespace is going: then nothing new can be made there. It may have begun to go while events waited. */
  readonly isGoing: (namespace: string) => boolean;
  readonly now?: () => Date;
};

/** What was told of one thing: one object in the cluster, whose count goes up. */
type Series = {
  readonly event: EventObject;
  count: number;
  lastAtMs: number;
  /** When the cluster was last told of the count, or is being told. */
  toldAtMs: number;
  toldCount: number;
};

const QUEUE = 1_000;
const SENDERS = 4;
// Events give way to the work that they tell of: in a burst they wait for a lull, but not for ever, nor until the queue is full.
const LULL_MS = 100;
const LONGEST_WAIT_MS = 10_000;
const WAITING = 750;
const SILENCE_MS = 6 * 60_000;
const REFRESH_MS = 30 * 60_000;
const SWEEP_MS = 60_000;
const TRIES = 8;
const FLUSH_MS = 2_000;
// The API's bounds: 1 kB of note; a name is a DNS subdomain.
const NOTE_BYTES = 1_000;
const LONGEST_NAME = 253 - '.0123456789abcdef'.length;

export class EventRecorder implements EventSink, AsyncDisposable {
  readonly #options: RecorderOptions;
  readonly #series = new Map<string, Series>();
  readonly #queue: Series[] = [];
  readonly #stop = new AbortController();
  readonly #sweeper: NodeJS.Timeout;
  /** Runs out when nothing has come for a while. */
  #lull: NodeJS.Timeout | undefined;
  #waitingSinceMs = 0;
  readonly #senders = new Set<Promise<void>>();
  /** Of one thing nothing is sent before the last answer has come. */
  readonly #underWay = new Set<Series>();

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#sweeper = setInterval(() => this.sweep(), SWEEP_MS).unref();
  }

  record(resource: Resource, event: ObjectEvent): void {
    const atMs = this.#now().getTime();
    const key = JSON.stringify([resource.kind, resource.metadata.uid, event.type, event.action, event.reason]);
    const known = this.#series.get(key);
    if (known === undefined || atMs - known.lastAtMs > SILENCE_MS) {
      if (known !== undefined) this.#finish(key, known);
      const series = { event: this.#eventOf(resource, event), count: 1, lastAtMs: atMs, toldAtMs: atMs, toldCount: 0 };
      if (this.#enqueue(series)) this.#series.set(key, series);
      return;
    }
    known.count++;
    known.lastAtMs = atMs;
    // The second makes it a series; later ones are told when it ends, and now and then before.
    if (known.count === 2) this.#enqueue(known);
  }

  /** Ends what was silent for 6 minutes, and refreshes what goes on for more than 30. */
  sweep(): void {
    const nowMs = this.#now().getTime();
    for (const [key, series] of this.#series) {
      if (nowMs - series.lastAtMs > SILENCE_MS) this.#finish(key, series);
      else if (series.count > series.toldCount && nowMs - series.toldAtMs >= REFRESH_MS) this.#enqueue(series);
    }
  }

  /** Sends what is queued, for two seconds at most. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sweeper);
    for (const [key, series] of this.#series) this.#finish(key, series);
    this.#sendAll();
    const timer = setTimeout(() => this.#stop.abort(), FLUSH_MS);
    while (this.#senders.size > 0) await Promise.all(this.#senders);
    clearTimeout(timer);
    this.#stop.abort();
  }

  #finish(key: string, series: Series): void {
    this.#series.delete(key);
    if (series.count > series.toldCount && series.toldCount > 0) this.#enqueue(series);
  }

  #enqueue(series: Series): boolean {
    const isQueued = this.#queue.includes(series);
    if (!isQueued && (this.#queue.length >= QUEUE || this.#stop.signal.aborted)) {
      this.#options.events.objectEventDropped({ reason: series.event.reason, why: 'the queue is full' });
      return false;
    }
    if (!isQueued) this.#queue.push(series);
    this.#sendAtLull();
    return true;
  }

  #sendAtLull(): void {
    const nowMs = performance.now();
    if (this.#lull === undefined) {
      this.#waitingSinceMs = nowMs;
      this.#lull = setTimeout(() => this.#sendAll(), LULL_MS);
    } else if (this.#queue.length >= WAITING || nowMs - this.#waitingSinceMs >= LONGEST_WAIT_MS) this.#sendAll();
    else this.#lull.refresh();
  }

  #sendAll(): void {
    clearTimeout(this.#lull);
    this.#lull = undefined;
    for (let free = SENDERS - this.#senders.size; free > 0 && this.#queue.length > 0; free--) {
      const sender = this.#send().finally(() => this.#senders.delete(sender));
      this.#senders.add(sender);
    }
  }

  async #send(): Promise<void> {
    for (let series = this.#next(); series !== undefined; series = this.#next()) {
      if (this.#options.isGoing(series.event.metadata.namespace)) continue;
      this.#underWay.add(series);
      const before = { toldCount: series.toldCount, toldAtMs: series.toldAtMs };
      Object.assign(series, { toldCount: series.count, toldAtMs: this.#now().getTime() });
      const error = await this.#tell(series, before.toldCount === 0);
      this.#underWay.delete(series);
      if (error === undefined) continue;
      Object.assign(series, before);
      this.#options.events.objectEventDropped({ reason: series.event.reason, why: String(error) });
    }
  }

  /** Whoever sends of a thing looks for more of it afterwards. */
  #next(): Series | undefined {
    const at = this.#queue.findIndex((series) => !this.#underWay.has(series));
    return at === -1 ? undefined : this.#queue.splice(at, 1)[0];
  }

  /** Gives the error for which it was given up. */
  async #tell({ event, count, lastAtMs }: Readonly<Series>, isNew: boolean): Promise<unknown> {
    const { cluster } = this.#options;
    const lastObservedTime = microtime(new Date(lastAtMs));
    const { signal } = this.#stop;
    const { namespace, name } = event.metadata;
    const series = count > 1 ? { series: { count, lastObservedTime } } : {};
    const create = () =>
      cluster.request({ method: 'POST', path: eventsPath(namespace), body: { ...event, ...series }, signal });
    const patch = () => {
      const path = eventsPath(namespace, name);
      return cluster.request({ method: 'PATCH', path, contentType: MERGE, body: series, signal });
    };
    const backOff = new BackOff();
    for (;;) {
      try {
        // Events live for an hour where nothing else is said.
        await (isNew ? create() : patch().catch((error) => (isMissing(error) ? create() : Promise.reject(error))));
        return undefined;
      } catch (error) {
        const isWorthAnother = error instanceof ClusterError && (error.code === 0 || error.code >= 429);
        if (signal.aborted || !isWorthAnother || backOff.failures === TRIES) return error;
        await sleep(backOff.failed(performance.now(), error.retryAfterMs), undefined, { signal }).catch(
          () => undefined,
        );
      }
    }
  }

  #eventOf(resource: Resource, { type, reason, action, note }: ObjectEvent) {
    const { namespace, name, uid, resourceVersion } = resource.metadata;
    const { apiVersion, kind } = resource;
    const nanoseconds = BigInt(this.#now().getTime()) * 1_000_000n + (process.hrtime.bigint() % 1_000_000n);
    return {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: {
        name: `${name.slice(0, LONGEST_NAME).replace(/[^a-z0-9]+$/, '')}.${nanoseconds.toString(16)}`,
        namespace,
      },
      eventTime: microtime(this.#now()),
      type,
      reason,
      action,
      note: shortened(note),
      regarding: { apiVersion, kind, namespace, name, uid, resourceVersion },
      reportingController: `${API_GROUP}/${kind.toLowerCase()}`,
      reportingInstance: this.#options.instance,
    };
  }

  #now(): Date {
    return this.#options.now?.() ?? new Date();
  }
}

type EventObject = {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly reason: string;
};

function shortened(note: string): string {
  const bytes = Buffer.from(note);
  // A character that is cut in two is left out.
  return bytes.length > NOTE_BYTES
    ? `${bytes
        .subarray(0, NOTE_BYTES)
        .toString()
        .replace(/\uFFFD+$/, '')}...`
    : note;
}
