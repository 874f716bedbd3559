// What has happened to objects since a status of theirs was last written: it is told after the next one, since by then the
// steps find it done, and say nothing of it again.
import { isDeepStrictEqual } from 'node:util';
import type { ObjectEvent } from './ports.ts';

export type News = Omit<ObjectEvent, 'action'>;

/** Of one object. */
export class Untold {
  readonly uid: string;
  readonly #events: News[] = [];
  #notReady: News | undefined;

  constructor(uid: string) {
    this.uid = uid;
  }

  /** Once per thing, also where visits repeat it. */
  happened(event: News): void {
    if (!this.#events.some((known) => isDeepStrictEqual(known, event))) this.#events.push(event);
  }

  /** Why it is not ready now. */
  notReady(event: News): void {
    this.#notReady = event;
  }

  /** What is to be told with a status that gives this reason. */
  with(reason: string): readonly News[] {
    return this.#notReady?.reason === reason ? [...this.#events, this.#notReady] : this.#events;
  }
}

/** Of all objects that are there. */
export class UntoldEvents {
  readonly #untold = new Map<string, Untold>();

  of(name: string, uid: string): Untold {
    const known = this.#untold.get(name);
    if (known?.uid === uid) return known;
    const untold = new Untold(uid);
    this.#untold.set(name, untold);
    return untold;
  }

  forget(name: string): void {
    this.#untold.delete(name);
  }

  clear(): void {
    this.#untold.clear();
  }
}
