import { expect, test } from 'vitest';
import { readJson } from '../../../src/schema/json.ts';

const problemOf = (text: string | Uint8Array) => {
  const reading = readJson(text);
  return reading.ok ? undefined : `${reading.problem.code} ${reading.problem.field}`.trim();
};

const accepted = [
  '{}',
  '[]',
  'null',
  '"a"',
  '0',
  '-1.5e3',
  ' {"a": [1, {"b": "c"}], "d": {"a": 1}} ',
  '{"a":"\\\\u0000","b":"\\"{[,:"}',
  '{"a":{"x":1},"b":{"x":1}}',
  '[{"a":1},{"a":2}]',
  '{"pair":"\\ud83d\\ude00"}',
  '{"tab":"\\u0009"}',
  '{"a":9007199254740991}',
  '{"":1,"b":""}',
];
test.each(accepted)('reads %s as JSON.parse does', (text) => {
  expect(readJson(text)).toEqual({ ok: true, value: JSON.parse(text) });
});

test.each([
  ['{"directory":{"name":"a","name":"b"}}', 'duplicate_member directory.name'],
  ['{"a":1,"\\u0061":2}', 'duplicate_member a'],
  ['{"b":"\\"","a":1,"a":2}', 'duplicate_member a'],
  ['{"b":"\\\\","a":1,"a":2}', 'duplicate_member a'],
  ['[{"a":1},{"b":[0,{"c":1,"d":2,"c":3}]}]', 'duplicate_member [1].b[1].c'],
  ['{"__proto__":1,"__proto__":2}', 'duplicate_member __proto__'],
  ['{"a":{"b":["x","a\\u0000b"]}}', 'bad_text a.b[1]'],
  ['{"a":"\\ud800"}', 'bad_text a'],
  ['{"a":"\\udc00\\ud800"}', 'bad_text a'],
  ['{"\\ud800":1}', 'bad_text ["�"]'],
  ['{"a":1e999}', 'number_out_of_range a'],
  ['{"a":[1,-9007199254740993]}', 'number_out_of_range a[1]'],
  [`{"a":0.${'1'.repeat(50)}}`, 'number_out_of_range a'],
  ['', 'malformed_json'],
  ['{', 'malformed_json'],
  ['{"a":}', 'malformed_json'],
  ['{"a":1}}', 'malformed_json'],
  ["{'a':1}", 'malformed_json'],
  ['{"a":NaN}', 'malformed_json'],
  ['{"a":01}', 'malformed_json'],
  ['{"a":"b', 'malformed_json'],
  ['{"a":"\\x"}', 'malformed_json'],
  ['[1,]', 'malformed_json'],
  ['nul', 'malformed_json'],
  ['{"a":"\u0000"}', 'malformed_json'],
  [']]]][[', 'malformed_json'],
  ['1 2', 'malformed_json'],
  ['-', 'number_out_of_range'],
  ['{"a":"\ud800"}', 'malformed_json'],
])('refuses %j as %s', (text, problem) => {
  expect(problemOf(text)).toBe(problem);
});

test('bytes that are not UTF-8 are refused', () => {
  expect(problemOf(Buffer.from([0x22, 0xc3, 0x28, 0x22]))).toBe('malformed_json');
  expect(problemOf(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))).toBe('malformed_json');
  expect(readJson(Buffer.from('{"a":"ü"}'))).toEqual({ ok: true, value: { a: 'ü' } });
});

test('SEC-17: depth and number of values are capped', () => {
  expect(readJson('['.repeat(20) + ']'.repeat(20)).ok).toBe(true);
  expect(problemOf('['.repeat(21) + ']'.repeat(21))).toMatch(/^too_deep \[0\]/);
  expect(problemOf('['.repeat(200_000))).toMatch(/^too_deep/);
  expect(problemOf('{"a":'.repeat(50_000))).toMatch(/^too_deep a\.a\.a/);
  expect(problemOf(`[${'1,'.repeat(100_000)}1]`)).toMatch(/^too_many_values/);
  expect(problemOf(`{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":0`).join(',')}}`)).toMatch(
    /^too_many/,
  );
});

test('a __proto__ member changes nothing but itself', () => {
  const reading = readJson('{"__proto__":{"admin":true},"constructor":{"prototype":{"x":1}}}');
  if (!reading.ok) throw new Error(reading.problem.message);
  expect(Object.getPrototypeOf(reading.value)).toBe(Object.prototype);
  expect(({} as Record<string, unknown>).admin).toBeUndefined();
});

test('no message quotes the body, which may hold a key', () => {
  for (const text of ['{"private_key": SECRET}', 'SECRET', '{"a":"SECRET", "a":"SECRET"}', '{"a":"SECRET\\u0000"}']) {
    expect(JSON.stringify(readJson(text))).not.toContain('SECRET');
  }
});

test('long strings of backslashes and quotes take linear time', () => {
  const text = `{"a":"${'\\\\'.repeat(120_000)}"}`;
  expect(readJson(text).ok).toBe(true);
  expect(readJson(`{"a":"${'\\"'.repeat(120_000)}"}`).ok).toBe(true);
});

test('whatever it accepts is what JSON.parse gives, and no random text makes it throw', () => {
  const pieces = ['{', '}', '[', ']', ',', ':', '"a"', '"b\\u0061"', '1', '-', 'e9', 'true', ' ', '"', '\\', '\\u0000'];
  let seed = 7;
  const next = (below: number) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  for (let round = 0; round < 5_000; round++) {
    const text = Array.from({ length: 1 + next(9) }, () => pieces[next(pieces.length)]).join('');
    const reading = readJson(text);
    if (reading.ok) expect(reading.value).toEqual(JSON.parse(text));
    else if (reading.problem.code === 'malformed_json') expect(() => JSON.parse(text)).toThrow();
  }
});
