// How commands print lists: aligned columns for people, JSON for programs.

export const printJson = (value: unknown): void => console.log(JSON.stringify(value, null, 2));

type Row = Readonly<Record<string, string | null>>;

export function printTable(columns: readonly string[], rows: readonly Row[]): void {
  const lines = [
    columns.map((column) => column.toUpperCase()),
    ...rows.map((row) => columns.map((column) => row[column] ?? '-')),
  ];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  for (const line of lines) {
    console.log(
      line
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}
