// Rows that a statement brings along, all as one value: JSON is made and read faster than a list for each column, and the
// text of the statement is the same for any number of rows.
import { type Statement, sql, verbatim } from './statement.ts';

/** What a column of each type is made of. */
type Values = {
  readonly uuid: string;
  readonly text: string;
  readonly 'text[]': readonly string[];
  readonly integer: number;
  readonly boolean: boolean;
  readonly timestamptz: Date;
  readonly bytea: Buffer;
  readonly jsonb: unknown;
};
type Types = Readonly<Record<string, keyof Values>>;

/** With a null, or nothing at all, where there is no value. */
export type BroughtRow<Columns extends Types> = {
  readonly [Name in keyof Columns]?: Values[Columns[Name]] | null | undefined;
};

/** Gives what stands in `from`, under this name. */
export function broughtRows<const Columns extends Types>(
  name: string,
  columns: Columns,
): (rows: readonly BroughtRow<Columns>[]) => Statement<unknown> {
  const typed = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
  const shape = verbatim(`${name} (${typed.join(', ')})`);
  const bytes = Object.keys(columns).filter((column) => columns[column] === 'bytea');
  return (rows) => sql`json_to_recordset(${JSON.stringify(rows.map((row) => inText(row, bytes)))}::json) as ${shape}`;
}

function inText(row: Readonly<Record<string, unknown>>, bytes: readonly string[]): Readonly<Record<string, unknown>> {
  if (bytes.length === 0) return row;
  const texts = bytes.map((column) => [column, bytesText(row[column])]);
  return { ...row, ...Object.fromEntries(texts) };
}

const bytesText = (value: unknown): unknown => (Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : value);
