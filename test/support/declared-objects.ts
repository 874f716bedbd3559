// A cluster as the operator sees it, over plain maps: it stands for the API server, which is not ours, and keeps its
// rules for uids, generations, resourceVersions, finalizers and conflicts.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../src/core/ports.ts';
import {
  type ChangeHandlers,
  type EventSink,
  type NamespaceFacts,
  type ObjectEvent,
  type ResourceSource,
  SourceError,
  type SourceRefusal,
} from '../../src/operator/ports.ts';
import {
  API_VERSION,
  type CommonStatus,
  FINALIZER,
  type KindName,
  keyOf,
  type Resource,
  type ResourceKey,
  type ResourceMeta,
} from '../../src/resources/resource.ts';
import { answered, type DeclaredOutputs, declaredOutputs } from './declared-outputs.ts';

export type Manifest = ResourceKey & {
  readonly spec: object;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
};

export type DeclaredObjects = {
  readonly source: ResourceSource;
  readonly outputs: DeclaredOutputs;
  readonly events: EventSink;
  /** What was told of objects, oldest first. */
  readonly recorded: readonly (ObjectEvent & { readonly key: ResourceKey })[];
  /** What the API server would have logged: `patch SigningCert/status ns/name`, `get Secret ns/name`. */
  readonly requests: string[];
  /** As kubectl apply does: a changed spec is a new generation, an equal one nothing. */
  apply(manifest: Manifest): Resource;
  /** As kubectl annotate does, which makes no generation; undefined removes. */
  annotate(key: ResourceKey, annotations: Readonly<Record<string, string | undefined>>): Resource;
  /** As kubectl delete does. */
  delete(key: ResourceKey): void;
  /** As a restored backup does: another uid, at generation 1, without a status; what was made for the former one stays. */
  restore(key: ResourceKey): Resource;
  /** Out of sight, as by a label that says that it is another operator's. */
  hide(key: ResourceKey): void;
  /** The status that a reconciler of another kind would write. */
  setStatus(key: ResourceKey, status: object): Resource;
  /** The truth; undefined when it is gone. */
  read(key: ResourceKey): Resource | undefined;
  setNamespace(name: string, facts: Partial<NamespaceFacts>): void;
  /** A Secret that a user made. */
  setSecret(namespace: string, name: string, values: Readonly<Record<string, string>>): void;
  /** The copy stays as it is until this is disposed of. */
  holdCopy(): Disposable;
  /** Resolves when the copy shows the truth, and everybody was told. */
  caughtUp(): Promise<void>;
  /** What the API server answers from now on, by the line of its log; undefined: what is right. */
  refuse(how: ((request: string) => SourceRefusal | undefined) | undefined): void;
};

export function declaredObjects(clock: Clock): DeclaredObjects {
  const truth = new Map<string, Resource>();
  const copy = new Map<string, Resource>();
  const namespaces = new Map<string, NamespaceFacts>();
  const recorded: (ObjectEvent & { key: ResourceKey })[] = [];
  const requests: string[] = [];
  const untold: (() => void)[] = [];
  let handlers: ChangeHandlers | undefined;
  let holds = 0;
  let version = 0;
  let refusal: ((request: string) => SourceRefusal | undefined) | undefined;

  const request = (line: string): void => {
    requests.push(line);
    const refused = refusal?.(line);
    if (refused !== undefined) throw new SourceError(refused, `The API server refused: ${line}.`);
  };
  const outputs = declaredOutputs(request);

  const tellLater = (tell: () => void): void => {
    untold.push(tell);
    setImmediate(tellNow);
  };
  const tellNow = (): void => {
    if (handlers === undefined || holds > 0) return;
    for (const tell of untold.splice(0)) tell();
  };
  const show = (key: ResourceKey, after: Resource | undefined): void => {
    const id = textOf(key);
    const before = copy.get(id);
    if (after === undefined) copy.delete(id);
    else copy.set(id, after);
    const isAnother = before !== undefined && after !== undefined && before.metadata.uid !== after.metadata.uid;
    if (before !== undefined && (after === undefined || isAnother)) handlers?.changed({ key, before });
    if (after !== undefined) handlers?.changed({ key, after, ...(before !== undefined && !isAnother && { before }) });
  };
  const store = (resource: Resource): Resource => {
    const stored = { ...resource, metadata: { ...resource.metadata, resourceVersion: `${++version}` } };
    const key = keyOf(stored);
    const { namespace } = key;
    truth.set(textOf(key), stored);
    if (!namespaces.has(namespace)) setNamespace(namespace, {});
    tellLater(() => show(key, stored));
    return stored;
  };
  const drop = (resource: Resource): void => {
    const key = keyOf(resource);
    truth.delete(textOf(key));
    tellLater(() => show(key, undefined));
    outputs.collect(resource.metadata.uid);
  };
  const setNamespace = (name: string, { labels = {}, isTerminating = false }: Partial<NamespaceFacts>): void => {
    namespaces.set(name, { labels: { 'kubernetes.io/metadata.name': name, ...labels }, isTerminating });
    tellLater(() => handlers?.namespaceChanged(name));
  };
  const there = (key: ResourceKey): Resource => {
    const found = truth.get(textOf(key));
    if (found === undefined) throw new SourceError('gone', `There is no ${key.kind} ${key.namespace}/${key.name}.`);
    return found;
  };
  /** Undefined where nothing changes, which is no write. */
  const change = (found: Resource, metadata: Partial<ResourceMeta>, rest: Partial<Resource> = {}): Resource => {
    const changed = { ...found, ...rest, metadata: { ...found.metadata, ...metadata } };
    return JSON.stringify(changed) === JSON.stringify(found) ? found : store(changed);
  };
  const born = ({ kind, namespace, name, spec, labels, annotations }: Manifest): Resource => ({
    apiVersion: API_VERSION,
    kind,
    metadata: {
      namespace,
      name,
      uid: randomUUID(),
      generation: 1,
      resourceVersion: '',
      creationTimestamp: timestamp(clock),
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    },
    spec,
    status: { observedGeneration: -1 },
  });

  const source: ResourceSource = {
    follow: (given) => {
      handlers = given;
      setImmediate(tellNow);
    },
    synced: async (signal) => {
      while (handlers === undefined || untold.length > 0) await answered(signal);
    },
    get: (key) => copy.get(textOf(key)),
    list: (kind) => [...copy.values()].filter((resource) => resource.kind === kind),
    isGone: async (key, uid) => truth.get(textOf(key))?.metadata.uid !== uid,
    namespace: (name) => namespaces.get(name),
    writeStatus: async (resource, status, signal) => {
      const key = keyOf(resource);
      await answered(signal);
      request(`patch ${key.kind}/status ${key.namespace}/${key.name}`);
      const found = there(key);
      if (found.metadata.uid !== resource.metadata.uid) throw new SourceError('gone', 'Another object has this name.');
      change(found, {}, { status: statusOf(status) });
    },
    setFinalizer: async (resource, isWanted, signal) => {
      const key = keyOf(resource);
      await answered(signal);
      request(`patch ${key.kind} ${key.namespace}/${key.name}`);
      const found = there(key);
      if (found.metadata.resourceVersion !== resource.metadata.resourceVersion)
        throw new SourceError('conflict', `${key.kind} ${key.namespace}/${key.name} has changed since it was read.`);
      const isDeleting = found.metadata.deletionTimestamp !== undefined;
      if (isWanted && isDeleting) throw new SourceError('refused', 'An object that is going gets no finalizer.');
      const others = (found.metadata.finalizers ?? []).filter((name) => name !== FINALIZER);
      const finalizers = isWanted ? [...others, FINALIZER] : others;
      if (!isDeleting || finalizers.length > 0) return change(found, { finalizers });
      drop(found);
      return undefined;
    },
    readSecret: async (namespace, name, signal) => {
      await answered(signal);
      request(`get Secret ${namespace}/${name}`);
      const values = outputs.output('Secret', namespace, name)?.values;
      return values && Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Buffer.from(value)]));
    },
  };

  return {
    source,
    outputs,
    events: { record: (resource, event) => void recorded.push({ ...event, key: keyOf(resource) }) },
    recorded,
    requests,
    apply: (manifest) => {
      const found = truth.get(textOf(manifest));
      if (found === undefined) return store(born(manifest));
      const { labels, annotations, spec } = manifest;
      const { generation } = found.metadata;
      const isOther = JSON.stringify(spec) !== JSON.stringify(found.spec);
      return change(
        found,
        {
          generation: isOther ? generation + 1 : generation,
          ...(labels && { labels }),
          ...(annotations && { annotations }),
        },
        { spec },
      );
    },
    annotate: (key, annotations) => {
      const found = there(key);
      const all = Object.entries({ ...found.metadata.annotations, ...annotations });
      const kept = all.filter((entry): entry is [string, string] => entry[1] !== undefined);
      return change(found, { annotations: Object.fromEntries(kept) });
    },
    hide: (key) => tellLater(() => show(key, undefined)),
    delete: (key) => {
      const found = there(key);
      const { finalizers = [], deletionTimestamp, generation } = found.metadata;
      if (finalizers.length === 0) drop(found);
      else if (deletionTimestamp === undefined)
        change(found, { deletionTimestamp: timestamp(clock), generation: generation + 1 });
    },
    restore: (key) => {
      const { kind, spec, metadata } = there(key);
      const { namespace, name, labels, annotations, finalizers } = metadata;
      const manifest = {
        kind,
        namespace,
        name,
        spec: Object(spec),
        ...(labels && { labels }),
        ...(annotations && { annotations }),
      };
      const again = born(manifest);
      return store({ ...again, metadata: { ...again.metadata, ...(finalizers && { finalizers }) } });
    },
    setStatus: (key, status) => change(there(key), {}, { status: statusOf(status) }),
    read: (key) => truth.get(textOf(key)),
    setNamespace,
    setSecret: (namespace, name, values) => outputs.write('Secret', namespace, name, values),
    holdCopy: () => {
      holds++;
      return {
        [Symbol.dispose]: () => {
          holds--;
          setImmediate(tellNow);
        },
      };
    },
    caughtUp: async () => {
      if (handlers === undefined) throw new Error('Nobody follows these objects; call source.follow() first.');
      while (untold.length > 0) await new Promise((resolve) => setImmediate(resolve));
    },
    refuse: (how) => {
      refusal = how;
    },
  };
}

const textOf = ({ kind, namespace, name }: ResourceKey): string => `${kind satisfies KindName}/${namespace}/${name}`;

/** As the API server writes times: to the second. */
const timestamp = (clock: Clock): string =>
  clock
    .now()
    .toISOString()
    .replace(/\.\d+Z$/, 'Z');

/** What comes back is what went over the wire. */
const statusOf = (status: object): CommonStatus => ({ observedGeneration: -1, ...JSON.parse(JSON.stringify(status)) });
