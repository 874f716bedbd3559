// A signal of one's own, which is over with that of somebody else at the latest. AbortSignal.any does the same by weak
// references: what hangs on them, as all of a validation does, lives until the whole heap is looked through, not only
// what is young.

export class OwnSignal implements Disposable {
  readonly #others: AbortSignal;
  readonly #own = new AbortController();
  readonly #follow = (): void => this.#own.abort(this.#others.reason);
  #timer: NodeJS.Timeout | undefined;

  /** To be disposed of when nobody listens to it any more. */
  constructor(others: AbortSignal) {
    this.#others = others;
    if (others.aborted) this.#follow();
    else others.addEventListener('abort', this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  end(reason: Error): void {
    this.#own.abort(reason);
  }

  /** It ends after so long, with the reason that is made then. */
  endAfter(ms: number, late: () => Error): void {
    this.#timer = setTimeout(() => this.end(late()), ms);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#others.removeEventListener('abort', this.#follow);
  }
}
