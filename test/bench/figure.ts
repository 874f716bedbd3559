// What a benchmark prints, and how runs become one figure.

export type Figure = {
  readonly what: string;
  readonly measured: string;
  /** The goal, the peer or the physical limit, with its source in a word. */
  readonly goal: string;
};

export type BenchOptions = {
  /** Shorter loads, and none that take minutes. */
  readonly quick: boolean;
  /** Only these of the servers that are measured side by side. */
  readonly servers: readonly string[];
};

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** `0.91 s (0.88-1.02)`: the median, and the least and the most. */
export const spread = (values: readonly number[], unit: string, digits = 2): string =>
  `${median(values).toFixed(digits)} ${unit} (${Math.min(...values).toFixed(digits)}-${Math.max(...values).toFixed(digits)})`;

/** Lines of columns as wide as their longest cell: the first to the left, numbers to the right. */
export function tableLines(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return rows.map((row) => `  ${row.map(pad).join('  ')}`);
}

/** `-` for what could not be had. */
export const shown = (value: number | undefined, digits = 1): string =>
  value === undefined || !Number.isFinite(value) ? '-' : value.toFixed(digits);
