// Keys in the order in which they came, but of each namespace one in turn: who declares thousands delays only himself.

export class FairOrder {
  /** By namespace; the one whose turn is next comes first. A Map and a Set list what they hold as it was put in. */
  readonly #keys = new Map<string, Set<string>>();

  add(key: string): void {
    const namespace = namespaceOf(key);
    const keys = this.#keys.get(namespace) ?? new Set();
    this.#keys.set(namespace, keys.add(key));
  }

  delete(key: string): void {
    const namespace = namespaceOf(key);
    const keys = this.#keys.get(namespace);
    keys?.delete(key);
    if (keys?.size === 0) this.#keys.delete(namespace);
  }

  /** The next one, which is no longer held then. */
  take(): string | undefined {
    for (const [namespace, keys] of this.#keys) {
      this.#keys.delete(namespace);
      for (const key of keys) {
        keys.delete(key);
        if (keys.size > 0) this.#keys.set(namespace, keys);
        return key;
      }
    }
    return undefined;
  }

  clear(): void {
    this.#keys.clear();
  }
}

/** Of `namespace/name`. */
const namespaceOf = (key: string): string => key.slice(0, Math.max(0, key.indexOf('/')));
