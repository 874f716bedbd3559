// What a benchmark prints, and how runs become one figure.

export type Figure = {
  readonly what: string;
  readonly measured: string;
  /** The goal, the peer or the physical limit, with its source in a word. */
  readonly goal: string;
};

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** `0.91 s (0.88-1.02)`: the median, and the least and the most. */
export const spread = (values: readonly number[], unit: string, digits = 2): string =>
  `${median(values).toFixed(digits)} ${unit} (${Math.min(...values).toFixed(digits)}-${Math.max(...values).toFixed(digits)})`;
