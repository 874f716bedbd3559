// Reads src/store/tables.ts as text: one entry per column, in the words of Postgres.
import { readFileSync } from 'node:fs';

export type SourceColumn = {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  readonly nullable: boolean;
  readonly defaulted: boolean;
  readonly fixed: boolean;
  /** The values of a `OneOf<'a' | 'b'>`, or the name of the union in it. */
  readonly oneOf: readonly string[] | string | undefined;
};

const postgresTypes: Readonly<Record<string, string>> = {
  Uuid: 'uuid',
  Text: 'text',
  OneOf: 'text',
  UuidArray: 'uuid[]',
  TextArray: 'text[]',
  Bytea: 'bytea',
  Timestamptz: 'timestamp with time zone',
  CalendarDate: 'date',
  Integer: 'integer',
  Smallint: 'smallint',
  Numeric: 'numeric(49,0)',
  Bool: 'boolean',
  Jsonb: 'jsonb',
};

export const tablesSource = (): string => readFileSync(new URL('../../src/store/tables.ts', import.meta.url), 'utf8');

export function columnsOf(source: string): readonly SourceColumn[] {
  const list = /export type Tables = \{\n(.*?)\n\};/s.exec(source)?.[1] ?? '';
  const tables = [...list.matchAll(/^ {2}(\w+): (\w+);$/gm)];
  if (tables.length !== list.split('\n').length) throw new Error('A line of `Tables` cannot be read.');
  return tables.flatMap(([, table = '', type = '']) => tableColumns(source, table, type));
}

function tableColumns(source: string, table: string, type: string): SourceColumn[] {
  const body = new RegExp(`^type ${type} = \\{\\n(.*?)\\n\\};`, 'ms').exec(source)?.[1];
  if (body === undefined) throw new Error(`tables.ts has no type ${type} for ${table}.`);
  return body
    .split(/;\n|;$/)
    .filter((line) => line.trim() !== '')
    .map((line) => readColumn(table, line.replace(/\s+/g, ' ').trim()));
}

function readColumn(table: string, line: string): SourceColumn {
  const [, column = '', declared = ''] = /^(\w+): (.+)$/.exec(line) ?? [];
  const fixed = unwrap('Fixed', declared);
  const inner = (fixed ?? declared).replace(/ \| null$/, '');
  const defaulted = unwrap('Defaulted', inner);
  const name = /^(\w+)(<|$)/.exec(defaulted ?? inner)?.[1] ?? '';
  const type = postgresTypes[name];
  if (type === undefined) throw new Error(`${table}.${column}: no Postgres type is known for \`${declared}\`.`);
  return {
    table,
    column,
    type,
    nullable: / \| null$/.test(fixed ?? declared),
    defaulted: defaulted !== undefined,
    fixed: fixed !== undefined,
    oneOf: valuesOf(unwrap('OneOf', inner)),
  };
}

const unwrap = (wrapper: string, type: string): string | undefined =>
  type.startsWith(`${wrapper}<`) && type.endsWith('>') ? type.slice(wrapper.length + 1, -1).trim() : undefined;

const valuesOf = (union: string | undefined): readonly string[] | string | undefined =>
  union?.startsWith("'") ? union.split(' | ').map((value) => value.slice(1, -1)) : union;
