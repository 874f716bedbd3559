// A map that keeps what was used last, so that what is derived from many rows cannot fill the memory.

export class Recent<Value> {
  readonly #most: number;
  readonly #sizeOf: (value: Value) => number;
  readonly #kept = new Map<string, Value>();
  #size = 0;
  #newest: string | undefined;

  /** `most` values, or so much as their sizes add up to. */
  constructor(most: number, sizeOf: (value: Value) => number = () => 1) {
    this.#most = most;
    this.#sizeOf = sizeOf;
  }

  get(key: string): Value | undefined {
    const value = this.#kept.get(key);
    // To move a key to the end of a map costs much more than to find it.
    if (value !== undefined && key !== this.#newest) this.set(key, value);
    return value;
  }

  /** Of too many those used longest ago go. */
  set(key: string, value: Value): void {
    // A Map lists its keys in the order in which they were set.
    this.delete(key);
    this.#kept.set(key, value);
    this.#newest = key;
    this.#size += this.#sizeOf(value);
    for (const [oldest] of this.#kept) {
      if (this.#size <= this.#most) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const value = this.#kept.get(key);
    if (value !== undefined) this.#size -= this.#sizeOf(value);
    this.#kept.delete(key);
  }
}
