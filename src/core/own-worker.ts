// The worker of this process, where there is one: who makes a row due can claim it for him in the same statement, so that
// nobody is told of it, or has to look for it. Without one, or where he has no room, any worker finds the row.
import type { ChallengeClaim } from '../store/challenge-results.ts';

/** Room for one more row, which is held until it is filled: to be done at once. */
export type Place<Claimed, Result> = {
  /** How long the claim is his. */
  readonly leaseMs: number;
  /** Free again where nothing is claimed. What came of it; undefined, too, where it has to be tried again. */
  fill(claiming: Promise<Claimed | undefined>): Promise<Result | undefined>;
};

/** For a challenge, of which it says when it was validated. */
type ChallengePlace = Place<ChallengeClaim, Date>;

/** Undefined where there is no room. */
type TakePlace = () => ChallengePlace | undefined;

export class OwnWorker {
  #takePlace: TakePlace | undefined;

  /** A place for a challenge. */
  place(): ChallengePlace | undefined {
    return this.#takePlace?.();
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
