// A task that is repeated while the process lives: never twice at once, and its failure ends one turn only.

export type PeriodicOptions = {
  readonly intervalMs: number;
  readonly task: () => Promise<unknown>;
  readonly onError: (error: unknown) => void;
};

export class Periodic implements AsyncDisposable {
  readonly #options: PeriodicOptions;
  readonly #timer: NodeJS.Timeout;
  #turn: Promise<void> | undefined;

  constructor(options: PeriodicOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.runNow(), options.intervalMs).unref();
  }

  /** A turn now, or the one that is under way. */
  runNow(): Promise<void> {
    this.#turn ??= this.#run().finally(() => {
      this.#turn = undefined;
    });
    return this.#turn;
  }

  async #run(): Promise<void> {
    try {
      await this.#options.task();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /** Waits for the turn that is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#turn;
  }
}
