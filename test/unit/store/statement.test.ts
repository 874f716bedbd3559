// The statements of the store: what Kysely would make of the same templates.
import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  sql as kyselySql,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely';
import { describe, expect, test } from 'vitest';
import { type Statement, sql, verbatim } from '../../../src/store/statement.ts';
import type { Tables } from '../../../src/store/tables.ts';

const sent: CompiledQuery[] = [];
const db = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (handle) => new PostgresIntrospector(handle),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
  log: ({ query }) => void sent.push(query),
});

async function textOf(statement: { execute(handle: typeof db): Promise<unknown> }) {
  sent.length = 0;
  await statement.execute(db);
  return sent.map(({ sql: text, parameters }) => ({ text, parameters }));
}

const at = new Date('2026-03-01T12:00:00Z');
const bytes = Buffer.from('bytes');

describe.each([
  ['no value', sql`select 1`, kyselySql`select 1`],
  ['nothing but a value', sql`${1}`, kyselySql`${1}`],
  [
    'values of every kind',
    sql`${'a'} ${2} ${true} ${null} ${at} ${bytes}`,
    kyselySql`${'a'} ${2} ${true} ${null} ${at} ${bytes}`,
  ],
  ['a list', sql`any(${['a', 'b']}) ${1}`, kyselySql`any(${['a', 'b']}) ${1}`],
  ['a part between values', sql`${1} (${sql`${2} x`}) ${3}`, kyselySql`${1} (${kyselySql`${2} x`}) ${3}`],
  ['parts in parts', sql`${sql`a ${sql`${1}`} ${2}`}${3}`, kyselySql`${kyselySql`a ${kyselySql`${1}`} ${2}`}${3}`],
  ['an empty part', sql`a${sql``}${1}`, kyselySql`a${kyselySql``}${1}`],
  ['names', sql`select ${verbatim('"a"."b"')} ${1}`, kyselySql`select ${kyselySql.ref('a.b')} ${1}`],
])('%s', (_name, own, kyselys) => {
  test('gives the text and the values that Kysely makes of it, each time', async () => {
    const expected = await textOf(kyselys);
    expect(await textOf(own)).toEqual(expected);
    expect(await textOf(own)).toEqual(expected);
  });

  test('may stand in what Kysely builds', async () => {
    const expected = await textOf(kyselySql`(${kyselys}) ${4}`);
    expect(await textOf(kyselySql`(${own}) ${4}`)).toEqual(expected);
  });
});

test('one template has a text for each way in which its places are filled', async () => {
  const filled = (a: number | Statement<unknown>, b: number | Statement<unknown>) => textOf(sql`${a} and ${b}`);
  const part = sql`part`;
  const other = sql`other ${0}`;

  for (const _ of [1, 2]) {
    expect(await filled(1, 2)).toEqual([{ text: '$1 and $2', parameters: [1, 2] }]);
    expect(await filled(part, 2)).toEqual([{ text: 'part and $1', parameters: [2] }]);
    expect(await filled(1, part)).toEqual([{ text: '$1 and part', parameters: [1] }]);
    expect(await filled(part, other)).toEqual([{ text: 'part and other $1', parameters: [0] }]);
    expect(await filled(other, part)).toEqual([{ text: 'other $1 and part', parameters: [0] }]);
  }
});

test('more texts than are kept are right all the same', async () => {
  const texts = Array.from({ length: 3_000 }, (_, index) => `"column_${index}"`);
  for (const text of texts)
    expect(await textOf(sql`select ${verbatim(text)} ${1}`)).toEqual([{ text: `select ${text} $1`, parameters: [1] }]);
});
