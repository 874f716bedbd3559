// Writes a status once: not again while the copy in memory has not yet caught up, and never where nothing differs.
import { isDeepStrictEqual } from 'node:util';
import { keyOf, type Resource } from '../resources/resource.ts';
import type { ResourceSource } from './ports.ts';

type Written = { readonly uid: string; readonly versions: readonly string[]; readonly status: object };

export class StatusWriter {
  readonly #source: ResourceSource;
  /** What was written over the object as the copy shows it still: as it was visited, or as others have changed it since. */
  readonly #written = new Map<string, Written>();

  constructor(source: ResourceSource) {
    this.#source = source;
  }

  /** The object with the status that it has, also where the copy does not show it yet. */
  current<R extends Resource>(name: string, resource: R): R {
    const status = this.shown(name, resource);
    return status === resource.status ? resource : { ...resource, status };
  }

  /** `seen` is the object as the copy showed it, `resource` the same or what our own write has made of it. */
  async write(
    name: string,
    { seen, resource }: { readonly seen: Resource; readonly resource: Resource },
    status: object,
    signal: AbortSignal,
  ): Promise<void> {
    const after = withoutUndefined(status);
    if (isDeepStrictEqual(after, this.shown(name, seen))) return;
    await this.#source.writeStatus(resource, status, signal);
    const copy = this.#source.get(keyOf(seen));
    if (copy === undefined) return;
    const visited = [seen, resource].map(({ metadata }) => metadata.resourceVersion);
    const { resourceVersion } = copy.metadata;
    // Somebody else may have changed the object meanwhile; its status only the one that leads.
    const isBehind = visited.includes(resourceVersion) || isDeepStrictEqual(copy.status, seen.status);
    const versions = [...visited, resourceVersion];
    if (isBehind) this.#written.set(name, { uid: seen.metadata.uid, versions, status: after });
  }

  /** The status of an object that the copy shows; what it has caught up with is forgotten. */
  shown(name: string, { metadata, status }: Resource): object | undefined {
    const written = this.#written.get(name);
    if (written?.uid === metadata.uid && written.versions.includes(metadata.resourceVersion)) return written.status;
    this.#written.delete(name);
    return status;
  }

  forget(name: string): void {
    this.#written.delete(name);
  }
}

/** As it looks after a trip through JSON. */
const withoutUndefined = (status: object): object => JSON.parse(JSON.stringify(status)) as object;
