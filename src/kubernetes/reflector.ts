// Keeps a cache equal to a collection of the API server, whatever happens to server, network and credentials.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Events } from '../telemetry/events.ts';
import { BackOff } from './back-off.ts';
import { Cache } from './cache.ts';
import type { ClusterRequests } from './client.ts';
import { ClusterError } from './cluster-error.ts';
import { type KubernetesObject, slim } from './kubernetes-object.ts';
import { listPages, pathWithQuery } from './list-pages.ts';
import { type WatchEvent, watch } from './watch.ts';

export type Reflection = {
  readonly cluster: ClusterRequests;
  readonly events: Events;
  readonly cache: Pick<Cache, 'replace' | 'put' | 'remove'>;
  /** Of the collection: `/apis/acmery.io/v1/directories`. */
  readonly path: string;
  readonly labelSelector?: string | undefined;
  /** Of objects whose content is nobody's business here: nothing but this comes over the wire. */
  readonly metadataOnly?: boolean;
  /** What of each object is kept until the cache has it. */
  readonly keep?: (object: KubernetesObject) => KubernetesObject;
  /** True where the API server may not know the collection, or not yet. */
  readonly isOptional?: boolean;
  /** A watch that is silent for so long is taken for dead: bookmarks come every minute. */
  readonly inactivityMs?: number;
  readonly backOff?: BackOff;
};

const INACTIVITY_MS = 90_000;
const WATCH_SECONDS = 290;
const WATCH_JITTER_SECONDS = 20;
/** A server that ends every watch at once is not asked again at once. */
const SHORTEST_WATCH_MS = 1_000;
const INITIAL_END = 'k8s.io/initial-events-end';

const metadataOf = (form: string): string => `application/json;as=${form};g=meta.k8s.io;v=v1`;

type Keep = NonNullable<Reflection['keep']>;

/** How far the cache follows. */
type Progress = {
  /** Undefined when everything is to be read anew. */
  version: string | undefined;
  /** Whether the server sends what there is as events of a watch, which costs both sides least. */
  canStream: boolean;
};

/** Resolves when the signal aborts, never before; never rejects. */
export async function reflect(reflection: Reflection, signal: AbortSignal): Promise<void> {
  const progress: Progress = { version: undefined, canStream: true };
  const { backOff = new BackOff() } = reflection;
  while (!signal.aborted) {
    try {
      if (progress.version === undefined && !progress.canStream) await list(reflection, progress, signal);
      await follow(reflection, progress, signal);
    } catch (error) {
      if (signal.aborted) break;
      if (!goesOnAtOnce(error, progress)) await pause(backOff, reflection, error, signal);
    }
  }
}

/** What a failure means for what is known; true where another way is open. */
function goesOnAtOnce(error: unknown, progress: Progress): boolean {
  const isInitial = progress.version === undefined;
  // Gone (410), not a version of this server (400), or not yet one (504): as after a restore of its database.
  if (!(error instanceof ClusterError) || versionRefusals.has(error.code)) progress.version = undefined;
  if (!isInitial || !progress.canStream || !(error instanceof ClusterError) || !streamRefusals.has(error.code))
    return false;
  progress.canStream = false;
  return true;
}
const versionRefusals: ReadonlySet<number> = new Set([400, 410, 504]);
const streamRefusals: ReadonlySet<number> = new Set([400, 422]);

async function pause(backOff: BackOff, reflection: Reflection, error: unknown, signal: AbortSignal): Promise<void> {
  const { events, path: resource, isOptional = false } = reflection;
  const isKnown = error instanceof ClusterError;
  if (!isKnown) events.internalError({ where: `watch of ${resource}`, error });
  // A silence was a wait already.
  const wasSilent = isKnown && error.code === 0 && error.reason === 'Timeout';
  const retryInMs = wasSilent ? 0 : backOff.failed(performance.now(), isKnown ? error.retryAfterMs : undefined);
  events.watchFailed({
    resource,
    attempt: backOff.failures,
    reason: isKnown ? error.message : String(error),
    retryInMs: Math.round(retryInMs),
    isExpected: isOptional && isKnown && error.code === 404,
  });
  // The abort is seen by the loop.
  await sleep(retryInMs, undefined, { signal }).catch(() => undefined);
}

async function list(reflection: Reflection, progress: Progress, signal: AbortSignal): Promise<void> {
  const startedAtMs = performance.now();
  const { cluster, path, labelSelector, metadataOnly, keep = slim } = reflection;
  const accept = metadataOnly ? metadataOf('PartialObjectMetadataList') : undefined;
  const objects: KubernetesObject[] = [];
  let version = '';
  for await (const page of listPages(cluster, { path, labelSelector, accept, signal })) {
    objects.push(...page.items.map(keep));
    version = page.metadata.resourceVersion;
  }
  replace(reflection, progress, objects, version, startedAtMs);
}

async function follow(reflection: Reflection, progress: Progress, signal: AbortSignal): Promise<void> {
  const startedAtMs = performance.now();
  const { cluster, cache, events, inactivityMs = INACTIVITY_MS, keep = slim } = reflection;
  const { version } = progress;
  const path = pathWithQuery(reflection.path, {
    labelSelector: reflection.labelSelector,
    watch: 'true',
    allowWatchBookmarks: 'true',
    timeoutSeconds: `${WATCH_SECONDS + Math.round((2 * Math.random() - 1) * WATCH_JITTER_SECONDS)}`,
    ...(version === undefined
      ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }
      : { resourceVersion: version }),
  });
  /** What there is, until all of it has come. */
  let initial = version === undefined ? new Cache({ keep: (object) => object, changed: () => undefined }) : undefined;
  events.watchStarted({ resource: reflection.path });
  const accept = reflection.metadataOnly ? metadataOf('PartialObjectMetadata') : undefined;
  for await (const batch of watch(cluster, path, { signal, inactivityMs, accept })) {
    for (const event of batch) {
      apply(initial ?? cache, event, keep);
      const { resourceVersion, annotations } = event.object.metadata;
      if (initial === undefined) progress.version = resourceVersion;
      else if (event.type === 'BOOKMARK' && annotations?.[INITIAL_END] === 'true') {
        replace(reflection, progress, initial.list(), resourceVersion, startedAtMs);
        initial = undefined;
      }
    }
  }
  signal.throwIfAborted();
  if (initial !== undefined || performance.now() - startedAtMs < SHORTEST_WATCH_MS) {
    const message = `GET ${path}: the server ended the watch before it had begun.`;
    throw new ClusterError(0, 'Unreachable', message);
  }
}

function replace(
  { cache, events, path: resource }: Reflection,
  progress: Progress,
  objects: readonly KubernetesObject[],
  version: string,
  startedAtMs: number,
): void {
  cache.replace(objects);
  progress.version = version;
  events.watchSynced({ resource, objects: objects.length, durationMs: performance.now() - startedAtMs });
}

function apply(cache: Pick<Cache, 'put' | 'remove'>, { type, object }: WatchEvent, keep: Keep): void {
  if (type === 'DELETED') cache.remove(object);
  else if (type !== 'BOOKMARK') cache.put(keep(object));
}
