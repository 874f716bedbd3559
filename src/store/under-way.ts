// What is under way on one connection, which answers its statements in the order in which they were sent.

export type UnderWayNow = {
  readonly count: number;
  /** 0 when there is none. */
  readonly oldestMs: number;
};

export class UnderWay implements UnderWayNow {
  readonly #nowMs: () => number;
  readonly #sentAtMs: number[] = [];

  constructor(nowMs = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  get count(): number {
    return this.#sentAtMs.length;
  }

  get oldestMs(): number {
    const [oldest] = this.#sentAtMs;
    return oldest === undefined ? 0 : this.#nowMs() - oldest;
  }

  /** What waits for the connection to be opened is under way, too. */
  async follow<Result>(send: () => Promise<Result>): Promise<Result> {
    this.#sentAtMs.push(this.#nowMs());
    try {
      return await send();
    } finally {
      this.#sentAtMs.shift();
    }
  }
}
