// What is under way on one connection, and on one before it that is not over yet.

export type UnderWayNow = {
  readonly count: number;
  /** 0 when there is none. */
  readonly oldestMs: number;
};

export class UnderWay implements UnderWayNow {
  readonly #nowMs: () => number;
  /** In the order in which they were sent. */
  readonly #sent = new Set<{ readonly atMs: number }>();

  constructor(nowMs = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  get count(): number {
    return this.#sent.size;
  }

  get oldestMs(): number {
    const [oldest] = this.#sent;
    return oldest === undefined ? 0 : this.#nowMs() - oldest.atMs;
  }

  /** What waits for the connection to be opened is under way, too. */
  async follow<Result>(send: () => Promise<Result>): Promise<Result> {
    const statement = { atMs: this.#nowMs() };
    this.#sent.add(statement);
    try {
      return await send();
    } finally {
      this.#sent.delete(statement);
    }
  }
}
