// The worker of this process, where there is one: who has something to be done at once gives it to him, so that nobody
// else is told of it, or has to look for it. Without one, or where he has no room, any worker finds its row.
import type { ChallengeRow } from '../store/authorizations.ts';
import type { ChallengeClaim } from '../store/challenge-results.ts';

/** Room for one more row, now. */
export type Place<Claimed, Result> = {
  /** How long a claim is his. */
  readonly leaseMs: number;
  /** What came of it; undefined, too, where it has to be tried again. */
  fill(claim: Claimed): Promise<Result | undefined>;
};

/** A try to validate a challenge. */
export type ChallengeTry = ChallengeClaim & {
  /** Of one of which nothing is written yet: makes it one under lease. Undefined where it cannot be. */
  readonly begin?: () => Promise<ChallengeClaim | undefined>;
};

/** Says when the challenge was validated. */
export type ChallengePlace = Place<ChallengeTry, Date>;

/** Undefined where there is no room. */
type TakePlace = () => ChallengePlace | undefined;

export class OwnWorker {
  #takePlace: TakePlace | undefined;
  readonly #firstTries = new Map<string, Promise<ChallengeRow | undefined>>();

  /** A place for a challenge. */
  place(): ChallengePlace | undefined {
    return this.#takePlace?.();
  }

  /** Of a challenge one at a time: who comes meanwhile hears what comes of it. */
  firstTry(id: string, begin: () => Promise<ChallengeRow | undefined>): Promise<ChallengeRow | undefined> {
    const underWay = this.#firstTries.get(id);
    if (underWay !== undefined) return underWay;
    const begun = begin().finally(() => this.#firstTries.delete(id));
    this.#firstTries.set(id, begun);
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
