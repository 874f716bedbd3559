// How many probes go at once to the same place: a slow one must leave room for the others.

/** Gives back what was taken; to be called once. */
type GiveBack = () => void;

/** Takes one of the places of `key`; undefined when all are taken. */
export type Shares = (key: string) => GiveBack | undefined;

export function createShares(most: number): Shares {
  const taken = new Map<string, number>();
  return (key) => {
    const count = taken.get(key) ?? 0;
    if (count >= most) return undefined;
    taken.set(key, count + 1);
    return () => {
      const rest = (taken.get(key) ?? 1) - 1;
      if (rest > 0) taken.set(key, rest);
      else taken.delete(key);
    };
  };
}
