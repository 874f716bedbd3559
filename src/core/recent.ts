// A map that keeps what was used last, so that what is derived from many rows cannot fill the memory.

export class Recent<Value> {
  readonly #most: number;
  readonly #kept = new Map<string, Value>();

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): Value | undefined {
    const value = this.#kept.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  /** Of too many the one used longest ago goes. */
  set(key: string, value: Value): void {
    // A Map lists its keys in the order in which they were set.
    this.#kept.delete(key);
    this.#kept.set(key, value);
    if (this.#kept.size > this.#most) for (const [oldest] of this.#kept.entries().take(1)) this.#kept.delete(oldest);
  }
}
