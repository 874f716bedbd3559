// The worker of this process, where there is one: who has something to be done at once gives it to him, so that nobody
// else is told of it, or has to look for it. Without one, or where he has no room, any worker finds its row.
import type { ChallengeRow } from '../store/authorizations.ts';
import type { ChallengeTry } from './validate-challenge.ts';

/** Room for one more row, now. */
export type Place<Claimed> = {
  /** How long a claim is his. */
  readonly leaseMs: number;
  /** Takes the room for as long as the work lasts. The signal says that the worker ends. */
  hold<Done>(work: (signal: AbortSignal) => Promise<Done>): Promise<Done>;
  /** For what has been claimed meanwhile: done as if he had found it. */
  run(claim: Claimed): Promise<void>;
};

export type ChallengePlace = Place<ChallengeTry>;

/** Undefined where there is no room. */
type TakePlace = () => ChallengePlace | undefined;

export class OwnWorker {
  #takePlace: TakePlace | undefined;
  readonly #firstTries = new Map<string, Promise<ChallengeRow | undefined>>();

  /** A place for a challenge. */
  place(): ChallengePlace | undefined {
    return this.#takePlace?.();
  }

  /** Of what is looked for one at a time: who comes meanwhile hears what comes of it. */
  firstTry(lookedFor: string, begin: () => Promise<ChallengeRow | undefined>): Promise<ChallengeRow | undefined> {
    const underWay = this.#firstTries.get(lookedFor);
    if (underWay !== undefined) return underWay;
    const begun = begin().finally(() => this.#firstTries.delete(lookedFor));
    this.#firstTries.set(lookedFor, begun);
    return begun;
  }

  /** Until it is disposed of. */
  employ(takePlace: TakePlace): Disposable {
    this.#takePlace = takePlace;
    return {
      [Symbol.dispose]: () => {
        if (this.#takePlace === takePlace) this.#takePlace = undefined;
      },
    };
  }
}
