// The custom resources of a cluster as the operator sees them: copies in memory that follow the API server, and writes to it.
import { isDeepStrictEqual } from 'node:util';
import { type ChangeHandlers, type NamespaceFacts, type ResourceSource, SourceError } from '../operator/ports.ts';
import { CLASS_LABEL } from '../resources/annotations.ts';
import { FINALIZER, type KindName, kindNames, type Resource } from '../resources/resource.ts';
import type { Events } from '../telemetry/events.ts';
import { APPLY, corePath, MERGE, NAMESPACES, resourcePath } from './api-paths.ts';
import { BackOff } from './back-off.ts';
import { Cache, type CacheChange } from './cache.ts';
import type { ClusterRequests } from './client.ts';
import { type KubernetesObject, slim } from './kubernetes-object.ts';
import { type Reflection, reflect } from './reflector.ts';
import { secretReflection } from './secret-watch.ts';
import { asSource, isForbidden, isReason, orUndefined } from './source-errors.ts';
import { unlessAborted } from './unless-aborted.ts';

export type ClusterSourceOptions = {
  readonly cluster: ClusterRequests;
  readonly events: Events;
  /** Undefined: the whole cluster; else no right beyond these is needed, and nothing is known of the namespaces themselves. */
  readonly namespaces?: readonly string[] | undefined;
  /** Only objects with this value of the label `acmery.io/class`; undefined: only objects without the label. */
  readonly resourceClass?: string | undefined;
  /** Whether Secrets are followed, too; of what is in them nothing is asked. */
  readonly watchSecrets?: boolean | undefined;
  readonly inactivityMs?: number;
  readonly newBackOff?: () => BackOff;
};

const STATUS_MANAGER = 'acmery-status';
const EVERYWHERE = '';

/** Nothing is sent before `follow`. */
export function openClusterSource(options: ClusterSourceOptions): ResourceSource & AsyncDisposable {
  const { cluster, events, namespaces, resourceClass, inactivityMs, newBackOff = () => new BackOff() } = options;
  const stop = new AbortController();
  const scopes = namespaces ?? [EVERYWHERE];
  let handlers: ChangeHandlers | undefined;
  let following: Promise<unknown> = Promise.resolve();
  /** Versions that our own statuses have made of objects as they were read: the next one is written over these. */
  const madeFrom = new WeakMap<Resource, string>();
  const versionOf = (resource: Resource): string => madeFrom.get(resource) ?? resource.metadata.resourceVersion;

  const followed = kindNames.flatMap((kind) =>
    scopes.map((scope) => {
      const changed: CacheChange = (before, after) => handlers?.changed(changeOf(kind, before, after));
      return { kind, scope, cache: new Cache({ keep: (object) => ({ ...object, kind }), changed }) };
    }),
  );
  const cacheOf = new Map(followed.map(({ kind, scope, cache }) => [`${kind}/${scope}`, cache]));
  const namespaceCache = new Cache({
    keep: namespaceOf,
    changed: (before, after) => {
      const name = (after ?? before)?.metadata.name;
      if (name !== undefined && !isSameNamespace(before, after)) handlers?.namespaceChanged(name);
    },
  });

  const reflections = (): readonly Reflection[] => {
    const common = { cluster, events, ...(inactivityMs !== undefined && { inactivityMs }) };
    const labelSelector = resourceClass === undefined ? `!${CLASS_LABEL}` : `${CLASS_LABEL}=${resourceClass}`;
    const ofResources = followed.map(({ kind, scope, cache }) => {
      const path = resourcePath(kind, scope === EVERYWHERE ? undefined : scope);
      return { ...common, cache, path, labelSelector, backOff: newBackOff() };
    });
    const ofSecrets = (options.watchSecrets === true ? scopes : []).map((scope) => ({
      ...common,
      ...secretReflection(scope === EVERYWHERE ? undefined : scope, (secret) => handlers?.secretChanged?.(secret)),
      backOff: newBackOff(),
    }));
    return namespaces === undefined
      ? [...ofResources, ...ofSecrets, { ...common, cache: namespaceCache, path: NAMESPACES, backOff: newBackOff() }]
      : [...ofResources, ...ofSecrets];
  };
  const caches = [...followed.map(({ cache }) => cache), ...(namespaces === undefined ? [namespaceCache] : [])];

  return {
    follow(given) {
      handlers = given;
      following = Promise.all(reflections().map((reflection) => reflect(reflection, stop.signal)));
    },
    async synced(signal) {
      await unlessAborted(Promise.all(caches.map(({ filled }) => filled)), signal);
    },
    get({ kind, namespace, name }) {
      const scope = namespaces === undefined ? EVERYWHERE : namespace;
      const object = cacheOf.get(`${kind}/${scope}`)?.get(namespace, name);
      return object && resourceOf(object);
    },
    list(kind) {
      return followed.flatMap((one) => (one.kind === kind ? one.cache.list().map(resourceOf) : []));
    },
    async isGone({ kind, namespace, name }, uid, signal) {
      const path = resourcePath(kind, namespace, name);
      try {
        const found = await orUndefined(cluster.request<KubernetesObject>({ method: 'GET', path, signal }));
        return found?.metadata.uid !== uid;
      } catch (error) {
        // Where nothing may be read nothing is known to be gone.
        if (isForbidden(error)) return false;
        return asSource(Promise.reject(error));
      }
    },
    namespace(name) {
      const object = namespaceCache.get(undefined, name);
      return object && factsOf(object);
    },
    async writeStatus(resource, status, signal) {
      const written = await asSource(writeStatus(cluster, resource, { status, version: versionOf(resource), signal }));
      if (written !== undefined) madeFrom.set(resource, written);
    },
    async setFinalizer(resource, isWanted, signal) {
      const { kind, metadata } = resource;
      const { namespace, name, resourceVersion, finalizers = [] } = metadata;
      if (finalizers.includes(FINALIZER) === isWanted) return resource;
      const others = finalizers.filter((finalizer) => finalizer !== FINALIZER);
      const request = cluster.request<KubernetesObject>({
        method: 'PATCH',
        path: resourcePath(kind, namespace, name),
        contentType: MERGE,
        body: { metadata: { resourceVersion, finalizers: isWanted ? [...others, FINALIZER] : others } },
        signal,
      });
      // What is gone has no finalizer.
      const changed = await asSource(isWanted ? request : orUndefined(request));
      return changed && resourceOf({ ...slim(changed), kind });
    },
    async readSecret(namespace, name, signal) {
      const path = corePath('secrets', namespace, name);
      const secret = await asSource(orUndefined(cluster.request<SecretData>({ method: 'GET', path, signal })));
      if (secret === undefined) return undefined;
      const entries = Object.entries(secret.data ?? {});
      return Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value, 'base64')]));
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await following;
    },
  };
}

/**
 * The API server does not look at a uid that is applied to a status, so that the version stands for it. One that is only
 * out of date is looked up, and written over where the status is still the one that was seen: another one may lead by now.
 * The version that was made, where nobody else has changed the object.
 */
async function writeStatus(
  cluster: ClusterRequests,
  { apiVersion, kind, metadata, status: seen }: Resource,
  { status, version, signal }: { readonly status: object; readonly version: string; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const { namespace, name, uid } = metadata;
  const path = resourcePath(kind, namespace, name);
  let resourceVersion = version;
  for (;;) {
    try {
      const written = await cluster.request<KubernetesObject>({
        method: 'PATCH',
        path: `${path}/status?fieldManager=${STATUS_MANAGER}&force=true`,
        contentType: APPLY,
        body: { apiVersion, kind, metadata: { name, namespace, resourceVersion }, status },
        signal,
      });
      return resourceVersion === version ? written.metadata.resourceVersion : undefined;
    } catch (error) {
      if (!isReason(error, 'Conflict')) throw error;
    }
    const found = await cluster.request<KubernetesObject>({ method: 'GET', path, signal });
    if (found.metadata.uid !== uid)
      throw new SourceError('gone', `${kind} ${namespace}/${name} was made anew; this one is gone.`);
    if (!isDeepStrictEqual(found.status, seen))
      throw new SourceError('conflict', `The status of ${kind} ${namespace}/${name} was written by somebody else.`);
    resourceVersion = found.metadata.resourceVersion;
  }
}

type SecretData = { readonly data?: Readonly<Record<string, string>> };

function changeOf(kind: KindName, before: KubernetesObject | undefined, after: KubernetesObject | undefined) {
  const { namespace = '', name = '' } = (after ?? before)?.metadata ?? {};
  return {
    key: { kind, namespace, name },
    ...(before && { before: resourceOf(before) }),
    ...(after && { after: resourceOf(after) }),
  };
}

/** The API server has checked it against the schema of its kind. */
const resourceOf = (object: KubernetesObject): Resource => object as unknown as Resource;

/** All that anybody asks of a namespace. */
const namespaceOf = ({ metadata }: KubernetesObject): KubernetesObject => {
  const { name, uid, resourceVersion, labels, deletionTimestamp } = metadata;
  return {
    metadata: {
      name,
      uid,
      resourceVersion,
      ...(labels && { labels }),
      ...(deletionTimestamp && { deletionTimestamp }),
    },
  };
};

const factsOf = ({ metadata }: KubernetesObject): NamespaceFacts => ({
  labels: metadata.labels ?? {},
  isTerminating: metadata.deletionTimestamp !== undefined,
});

const isSameNamespace = (before: KubernetesObject | undefined, after: KubernetesObject | undefined): boolean =>
  before !== undefined && after !== undefined && isDeepStrictEqual(factsOf(before), factsOf(after));
