// Declared objects from a folder of manifests, behind the same port as a cluster, with the API server's rules for what it
// has to make up itself: uids, generations, finalizers and deletion.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type ChangeHandlers, type NamespaceFacts, type ResourceSource, SourceError } from '../operator/ports.ts';
import { kinds } from '../resources/kinds.ts';
import type { Manifest } from '../resources/manifest.ts';
import {
  type CommonStatus,
  FINALIZER,
  type KindName,
  keyOf,
  keyText,
  type Resource,
  type ResourceKey,
} from '../resources/resource.ts';
import { brokenRules } from '../resources/rules.ts';
import type { Events } from '../telemetry/events.ts';
import { DeclarationReader, type Declarations } from './declarations.ts';
import type { FolderOutputs } from './folder-outputs.ts';
import { type FolderReading, ManifestFiles } from './manifest-files.ts';
import type { StatusFiles } from './status-files.ts';

export type FolderSourceOptions = {
  readonly folder: string;
  readonly statusFiles: StatusFiles;
  readonly outputs: Pick<FolderOutputs, 'collect'>;
  /** Of documents that name none. */
  readonly namespace: string;
  readonly clock: { now(): Date };
  readonly events: Events;
};

/** Two looks find a file alike before it counts: well within a second. */
const LOOK_MS = 250;
/** What it takes with it its deletion policy says. */
const VANISHED = {
  type: 'Normal',
  reason: 'Deleted',
  note: 'No document declares this object any more: it is deleted.',
} as const;

export class FolderSource implements ResourceSource, AsyncDisposable {
  readonly #options: FolderSourceOptions;
  readonly #files: ManifestFiles;
  readonly #reader: DeclarationReader;
  readonly #objects = new Map<string, Resource>();
  readonly #stopping = new AbortController();
  readonly #whole = Promise.withResolvers<void>();
  #declared: Declarations = { objects: new Map(), secrets: new Map(), namespaces: new Map(), problems: [] };
  #handlers: ChangeHandlers | undefined;
  #following: Promise<void> | undefined;
  /** What was read and could not all be taken in: a status could not be written. */
  #unfinished: FolderReading | undefined;
  #version = 0;

  constructor(options: FolderSourceOptions) {
    this.#options = options;
    this.#files = new ManifestFiles(options.folder);
    this.#reader = new DeclarationReader(options.namespace);
  }

  follow(handlers: ChangeHandlers): void {
    this.#handlers = handlers;
    this.#following = this.#follow();
  }

  async synced(signal: AbortSignal): Promise<void> {
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    await Promise.race([this.#whole.promise, aborted]).finally(() => signal.removeEventListener('abort', abort));
  }

  get(key: ResourceKey): Resource | undefined {
    return this.#objects.get(keyText(key));
  }

  list(kind: KindName): readonly Resource[] {
    return [...this.#objects.values()].filter((resource) => resource.kind === kind);
  }

  async isGone(key: ResourceKey, uid: string): Promise<boolean> {
    return this.get(key)?.metadata.uid !== uid;
  }

  namespace(name: string): NamespaceFacts {
    const labels = { 'kubernetes.io/metadata.name': name, ...this.#declared.namespaces.get(name) };
    return { labels, isTerminating: false };
  }

  async writeStatus(resource: Resource, status: object): Promise<void> {
    const found = this.#current(resource);
    await this.#store({ ...found, status: status as CommonStatus });
  }

  async setFinalizer(resource: Resource, isWanted: boolean): Promise<Resource | undefined> {
    const found = this.#current(resource);
    if (found.metadata.resourceVersion !== resource.metadata.resourceVersion)
      throw new SourceError('conflict', `${keyText(keyOf(resource))} has changed since it was read.`);
    const others = (found.metadata.finalizers ?? []).filter((name) => name !== FINALIZER);
    const finalizers = isWanted ? [...others, FINALIZER] : others;
    const { deletionTimestamp } = found.metadata;
    if (deletionTimestamp !== undefined && finalizers.length === 0) {
      await this.#drop(found);
      return undefined;
    }
    await this.#store({ ...found, metadata: { ...found.metadata, finalizers } });
    return this.get(keyOf(found));
  }

  async readSecret(namespace: string, name: string): Promise<Readonly<Record<string, Buffer>> | undefined> {
    return this.#declared.secrets.get(`${namespace}/${name}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#following;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopping;
    for (const resource of await this.#options.statusFiles.read()) this.#show(undefined, resource);
    while (!signal.aborted) {
      try {
        await this.#look();
      } catch (error) {
        this.#options.events.taskFailed({ task: 'manifests', attempt: 1, error });
      }
      await pause(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const reading = (await this.#files.look()) ?? this.#unfinished;
    if (reading === undefined) return;
    this.#unfinished = reading;
    const { events, folder } = this.#options;
    if ('problem' in reading) {
      events.manifestsRead({ folder, objects: this.#objects.size, problems: [reading.problem] });
      this.#unfinished = undefined;
      return;
    }
    const before = this.#declared;
    this.#declared = this.#reader.read(reading);
    const refusals: string[] = [];
    for (const manifest of this.#declared.objects.values()) refusals.push(...(await this.#declare(manifest)));
    if (this.#declared.problems.length === 0) await this.#deleteMissing();
    this.#unfinished = undefined;
    const problems = [...this.#declared.problems, ...refusals];
    events.manifestsRead({ folder, objects: this.#objects.size, problems });
    this.#tellNamespaces(before);
    this.#whole.resolve();
  }

  /** As the API server takes an object; gives why it does not. */
  async #declare({ apiVersion, kind, metadata, spec }: Manifest): Promise<readonly string[]> {
    const { namespace, name, labels, annotations } = metadata;
    const found = this.get({ kind, namespace, name });
    const marks = { ...(labels && { labels }), ...(annotations && { annotations }) };
    if (found === undefined) {
      const creationTimestamp = `${this.#options.clock.now().toISOString().slice(0, 19)}Z`;
      const made = { namespace, name, uid: randomUUID(), generation: 1, resourceVersion: '', creationTimestamp };
      await this.#store({
        apiVersion,
        kind,
        metadata: { ...made, ...marks },
        spec,
        status: { observedGeneration: -1 },
      });
      return [];
    }
    // One that is being deleted is declared anew when it is gone.
    if (found.metadata.deletionTimestamp !== undefined) return [];
    const broken = brokenRules(kinds[kind], spec as object, found.spec as object);
    if (broken.length > 0) {
      return broken.map(({ field, message }) => `${kind} ${namespace}/${name}: spec.${field}: ${message}`);
    }
    const { labels: _labels, annotations: _annotations, ...kept } = found.metadata;
    const isChanged = !isDeepStrictEqual(found.spec, spec);
    const after = { ...kept, ...marks, generation: kept.generation + (isChanged ? 1 : 0) };
    if (isChanged || !isDeepStrictEqual(found.metadata, after)) await this.#store({ ...found, metadata: after, spec });
    return [];
  }

  async #deleteMissing(): Promise<void> {
    for (const [key, resource] of [...this.#objects]) {
      if (this.#declared.objects.has(key) || resource.metadata.deletionTimestamp !== undefined) continue;
      this.#options.events.objectEvent({ object: titleOf(resource), ...VANISHED });
      const deletionTimestamp = `${this.#options.clock.now().toISOString().slice(0, 19)}Z`;
      if ((resource.metadata.finalizers ?? []).length === 0) await this.#drop(resource);
      else await this.#store({ ...resource, metadata: { ...resource.metadata, deletionTimestamp } });
    }
  }

  /** The object as it is, where it is still the same one. */
  #current({ kind, metadata: { namespace, name, uid } }: Resource): Resource {
    const found = this.get({ kind, namespace, name });
    if (found?.metadata.uid !== uid) throw new SourceError('gone', `${kind} ${namespace}/${name} is gone.`);
    return found;
  }

  async #store(resource: Resource): Promise<void> {
    const stored = { ...resource, metadata: { ...resource.metadata, resourceVersion: `${++this.#version}` } };
    const before = this.get(keyOf(stored));
    this.#show(before, stored);
    await translated(() => this.#options.statusFiles.write(stored));
  }

  async #drop(resource: Resource): Promise<void> {
    const key = keyOf(resource);
    this.#objects.delete(keyText(key));
    this.#handlers?.changed({ key, before: resource });
    await translated(async () => {
      await this.#options.outputs.collect(resource);
      await this.#options.statusFiles.remove(key);
    });
    const again = this.#declared.objects.get(keyText(key));
    if (again !== undefined) await this.#declare(again);
  }

  #show(before: Resource | undefined, after: Resource): void {
    const key = keyOf(after);
    this.#objects.set(keyText(key), after);
    this.#handlers?.changed({ key, after, ...(before && { before }) });
  }

  /** Whose Secrets or labels differ: their objects look again. */
  #tellNamespaces(before: Declarations): void {
    const differing = new Set<string>();
    for (const field of ['secrets', 'namespaces'] as const) {
      const names = new Set([...before[field].keys(), ...this.#declared[field].keys()]);
      for (const name of names) {
        if (!isDeepStrictEqual(before[field].get(name), this.#declared[field].get(name)))
          differing.add(name.split('/')[0] ?? name);
      }
    }
    for (const namespace of differing) this.#handlers?.namespaceChanged(namespace);
  }
}

const titleOf = ({ kind, metadata: { namespace, name } }: Resource): string => `${kind} ${namespace}/${name}`;

async function translated(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new SourceError('unavailable', `The status cannot be written: ${error.message}`, error);
  }
}
