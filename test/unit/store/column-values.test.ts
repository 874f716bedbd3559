import pg from 'pg';
import { expect, test } from 'vitest';
import { columnParsers } from '../../../src/store/column-values.ts';

const { INT8, DATE, TIMESTAMPTZ } = pg.types.builtins;
const TEXT_ARRAY = 1009;
const parse = (oid: number, text: string): unknown => columnParsers.getTypeParser(oid, 'text')(text);
const drivers = (oid: number, text: string): unknown => pg.types.getTypeParser(oid, 'text')(text);

test.each([
  '2026-03-01 12:00:00+00',
  '2000-01-01 00:00:00+00',
  '2099-12-31 23:59:59.999+00',
  '2026-03-01 12:00:00.25+00',
  '2026-03-01 12:00:00.123456+00',
  '2026-03-01 12:00:00.999999+00',
  '2026-03-01 12:00:00.007+00',
  '2028-02-29 06:07:08+00',
  '2026-03-01 12:00:00+01',
  '2026-03-01 12:00:00.5-03:30',
  '1970-01-01 00:00:00+00',
  '9999-12-31 23:59:59+00',
  '12026-03-01 12:00:00+00',
  '20260-03-01 12:00:00+00',
  '0044-03-15 12:00:00+00 BC',
])('the time %s is what the driver makes of it', (text) => {
  expect(parse(TIMESTAMPTZ, text)).toEqual(drivers(TIMESTAMPTZ, text));
});

test('every thousandth of a second comes back', () => {
  for (let ms = 0; ms < 1000; ms++) {
    const fraction = (ms / 1000).toFixed(3).slice(1);
    expect(parse(TIMESTAMPTZ, `2026-03-01 12:00:00${fraction}+00`)).toEqual(new Date(1772366400000 + ms));
  }
});

test.each([
  '{}',
  '{a.example}',
  '{a.example,b.example}',
  '{"a,b",c}',
  String.raw`{"a\"b","c\\d"}`,
  '{NULL,a}',
  '{a,null}',
  '{"NULL"}',
  '{{a,b},{c,d}}',
  '[0:1]={a,b}',
  '{""}',
  '{nullify.example}',
])('the texts %s are what the driver makes of them', (text) => {
  expect(parse(TEXT_ARRAY, text)).toEqual(drivers(TEXT_ARRAY, text));
});

test('a bigint that is no exact number is refused, and a day stays text', () => {
  expect(parse(INT8, '9007199254740991')).toBe(Number.MAX_SAFE_INTEGER);
  expect(() => parse(INT8, '9007199254740993')).toThrow(RangeError);
  expect(parse(DATE, '2026-03-01')).toBe('2026-03-01');
});
