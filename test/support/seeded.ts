// A seeded generator for property tests: the same values in each run.

export type Seeded = {
  /** An integer from 0 up to, not including, `end`. */
  below(end: number): number;
  pick<T>(items: readonly T[]): T;
  /** Up to `most` values, at least `least`. */
  some<T>(least: number, most: number, make: () => T): readonly T[];
};

export function seeded(seed: number): Seeded {
  let state = seed >>> 0;
  // mulberry32
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number): number => Math.floor(next() * end);
  return {
    below,
    pick: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error('pick() from an empty list');
      return item;
    },
    some: (least, most, make) => Array.from({ length: least + below(most - least + 1) }, make),
  };
}
