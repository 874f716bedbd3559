// Writes a status once: not again while the copy in memory has not yet caught up, and never where nothing differs.
import { isDeepStrictEqual } from 'node:util';
import type { Resource } from '../resources/resource.ts';
import type { ResourceSource } from './ports.ts';

type Written = { readonly resourceVersion: string; readonly uid: string; readonly status: object };

export class StatusWriter {
  readonly #source: ResourceSource;
  /** What was written over the object as the copy still shows it. */
  readonly #written = new Map<string, Written>();

  constructor(source: ResourceSource) {
    this.#source = source;
  }

  /** The object with the status that it has, also where the copy does not show it yet. */
  current<R extends Resource>(name: string, resource: R): R {
    const status = this.#shown(name, resource);
    return status === resource.status ? resource : { ...resource, status };
  }

  async write(name: string, resource: Resource, status: object, signal: AbortSignal): Promise<void> {
    const { resourceVersion, uid } = resource.metadata;
    if (isDeepStrictEqual(withoutUndefined(status), this.#shown(name, resource))) return;
    await this.#source.writeStatus(resource, status, signal);
    this.#written.set(name, { resourceVersion, uid, status: withoutUndefined(status) });
  }

  forget(name: string): void {
    this.#written.delete(name);
  }

  #shown(name: string, { metadata, status }: Resource): object | undefined {
    const written = this.#written.get(name);
    if (written?.resourceVersion === metadata.resourceVersion && written.uid === metadata.uid) return written.status;
    this.#written.delete(name);
    return status;
  }
}

/** As it looks after a trip through JSON. */
const withoutUndefined = (status: object): object => JSON.parse(JSON.stringify(status)) as object;
