// A copy in memory of the objects of one collection, kept by a reflector.
import type { KubernetesObject } from './kubernetes-object.ts';

/** `before` undefined for a new object, `after` for one that is gone; never two objects of different uids. */
export type CacheChange = (before: KubernetesObject | undefined, after: KubernetesObject | undefined) => void;

type CacheOptions = {
  /** What is kept of an object. */
  readonly keep: (object: KubernetesObject) => KubernetesObject;
  readonly changed: CacheChange;
};

export class Cache {
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #keep: CacheOptions['keep'];
  readonly #changed: CacheChange;
  readonly #filled = Promise.withResolvers<void>();

  constructor({ keep, changed }: CacheOptions) {
    this.#keep = keep;
    this.#changed = changed;
  }

  /** Resolves when everything that was there at first is here. */
  get filled(): Promise<void> {
    return this.#filled.promise;
  }

  get(namespace: string | undefined, name: string): KubernetesObject | undefined {
    return this.#objects.get(idOf(namespace, name));
  }

  list(): readonly KubernetesObject[] {
    return [...this.#objects.values()];
  }

  /** These are all that there are. */
  replace(objects: readonly KubernetesObject[]): void {
    const present = new Set(objects.map(({ metadata }) => idOf(metadata.namespace, metadata.name)));
    for (const [id, object] of this.#objects) if (!present.has(id)) this.#drop(id, object);
    for (const object of objects) this.put(object);
    this.#filled.resolve();
  }

  put(object: KubernetesObject): void {
    const { namespace, name, uid, resourceVersion } = object.metadata;
    const id = idOf(namespace, name);
    const before = this.#objects.get(id);
    const isSame = before?.metadata.uid === uid;
    if (isSame && before.metadata.resourceVersion === resourceVersion) return;
    if (before !== undefined && !isSame) this.#drop(id, before);
    const after = this.#keep(object);
    this.#objects.set(id, after);
    this.#changed(isSame ? before : undefined, after);
  }

  remove({ metadata }: KubernetesObject): void {
    const id = idOf(metadata.namespace, metadata.name);
    const before = this.#objects.get(id);
    if (before !== undefined) this.#drop(id, before);
  }

  #drop(id: string, before: KubernetesObject): void {
    this.#objects.delete(id);
    this.#changed(before, undefined);
  }
}

const idOf = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`;
