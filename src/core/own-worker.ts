// The worker of this process, where there is one: who makes a row due can claim it for him in the same statement, so that
// nobody is told of it, or has to look for it. Without one, or where he has no room, any worker finds the row.
import type { ChallengeClaim } from '../store/challenge-results.ts';

/** Room for one more row, which is held until it is filled: to be done at once. */
export type Place = {
  /** How long the claim is his. */
  readonly leaseMs: number;
  /**
   * Free again where nothing is claimed. Fulfilled when the try is over, with the time at which it validated the challenge,
   * or with undefined whatever else came of it.
   */
  fill(claiming: Promise<ChallengeClaim | undefined>): Promise<Date | undefined>;
};

/** Undefined where there is no room. */
type TakePlace = () => Place | undefined;

export class OwnWorker {
  #takePlace: TakePlace | undefined;

  /** A place for a challenge. */
  place(): Place | undefined {
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
