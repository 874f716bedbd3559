// Values on their way to Postgres: what the driver makes of them, or the value itself for the driver.
import { expect, test } from 'vitest';
import { parameterValue } from '../../../src/store/parameter-values.ts';

const HOUR_MS = 3_600_000;
const inUtc = (time: Date): string => time.toISOString().replace('Z', '+00:00');

test('a time has the form of the driver in UTC, to the millisecond', () => {
  for (let ms = Date.UTC(1999, 11, 30); ms < Date.UTC(2001, 2, 2); ms += 7 * HOUR_MS + 61_001)
    expect(parameterValue(new Date(ms))).toBe(inUtc(new Date(ms)));
  for (let ms = -1_001; ms < 1_001; ms++) expect(parameterValue(new Date(ms))).toBe(inUtc(new Date(ms)));
});

test.each([
  '0001-01-01T00:00:00.000Z',
  '0099-12-31T23:59:59.999Z',
  '1883-11-18T12:03:58.000Z',
  '1969-12-31T23:59:59.999Z',
  '2028-02-29T06:07:08.009Z',
  '9999-12-31T23:59:59.999Z',
])('so has %s', (text) => {
  expect(parameterValue(new Date(text))).toBe(inUtc(new Date(text)));
});

test.each([
  ['no time', new Date(Number.NaN)],
  ['a time before the year 1', new Date('0000-12-31T23:59:59.999Z')],
  ['a time after the year 9999', new Date('+010000-01-01T00:00:00.000Z')],
  ['a text', 'text'],
  ['bytes', Buffer.from('bytes')],
  ['null', null],
  ['an object', { toPostgres: () => 'text' }],
  ['a text with a quote in a list', ['plain', 'a"b']],
  ['a text with a backslash in a list', ['plain', 'a\\b']],
  ['other things in a list', ['plain', true]],
  ['lists in a list', [['plain']]],
  ['a time in a list', [new Date(0)]],
])('%s is left to the driver', (_name, value) => {
  expect(parameterValue(value)).toBe(value);
});

test.each([
  [[], '{}'],
  [['a', 'b c', '', 'null', '{,}', 'ä'], '{"a","b c","","null","{,}","ä"}'],
  [['a', null], '{"a",NULL}'],
  [[Buffer.from([1, 0xff]), Buffer.alloc(0)], '{\\\\x01ff,\\\\x}'],
])('the list %j is %s', (list, text) => {
  expect(parameterValue(list)).toBe(text);
});
