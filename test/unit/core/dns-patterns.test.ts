import { expect, test } from 'vitest';
import { dnsPatternSet, parseDnsPattern } from '../../../src/core/dns-patterns.ts';
import { seeded } from '../../support/seeded.ts';

const pattern = (text: string) => {
  const result = parseDnsPattern(text);
  if (!result.ok) throw new Error(result.refusal);
  return result.value;
};
const passes = (patterns: readonly string[], value: string) =>
  dnsPatternSet(patterns.map(pattern)).find({ value }) !== undefined;

test.each([
  ['a.b', 'a.b'],
  ['A.B.', 'a.b'],
  ['*.A.b', '*.a.b'],
  ['**.a.b.', '**.a.b'],
  ['**', '**'],
  ['*', '*'],
  ['a', 'a'],
  ['*.xn--mnchen-3ya.example', '*.xn--mnchen-3ya.example'],
])('%s is the pattern %s', (text, canonical) => {
  expect(pattern(text).text).toBe(canonical);
});

test.each([
  '',
  '.',
  '*.',
  '**.',
  '***',
  '***.a',
  '*a',
  'a*',
  '*a.b',
  'a.*',
  'a.*.b',
  '*.*.b',
  '**.*.b',
  '*.**.b',
  '.a',
  'a..b',
  'a.b..',
  '*a.',
  '**a',
  '-a',
  'a_b',
  'a b',
  '$name.a',
  '{{name}}.a',
  '10.0.0.1',
  '*.10',
  '**.0x7f',
  '2130706433',
  'xn--ls8h',
  'ab--c.d',
  'a/b',
  '*.\n',
  '*.\u212a',
  'x'.repeat(64),
  '*'.repeat(100_000),
  'a.'.repeat(100_000),
])('ORD-12, SEC-7: %j is no pattern', (text) => {
  const result = parseDnsPattern(text);
  expect(result.ok).toBe(false);
  expect(JSON.stringify(result).length).toBeLessThan(450);
});

test.each([
  ['*.münchen.example', 'write it as *.xn--mnchen-3ya.example'],
  ['**.MÜNCHEN.example', 'write it as **.xn--mnchen-3ya.example'],
  ['münchen.example', 'write it as xn--mnchen-3ya.example'],
])('the refusal of %s gives the A-label form', (text, advice) => {
  expect(parseDnsPattern(text)).toMatchObject({ ok: false, refusal: expect.stringContaining(advice) });
});

test.each([
  ['a.b', ['a.b'], ['b', 'x.a.b', '*.a.b', 'a.b.c', '*.b']],
  [
    '*.a.b',
    ['x.a.b', '*.a.b'],
    ['a.b', 'y.x.a.b', '*.x.a.b', 'evil-a.b', 'x.evil-a.b', 'a.b.evil', '*.b', '*.evil-a.b'],
  ],
  ['**.a.b', ['x.a.b', 'y.x.a.b', '*.a.b', '*.x.a.b'], ['a.b', 'b', '*.b', 'evil-a.b', 'a.b.evil']],
  ['**', ['a', 'a.b', '*.a', '*.a.b.c'], []],
  ['*', ['a', 'localhost'], ['a.b', '*.a']],
])('ORD-12: %s', (text, good, bad) => {
  for (const value of good) expect(passes([text], value), value).toBe(true);
  for (const value of bad) expect(passes([text], value), value).toBe(false);
});

test('an empty list allows nothing', () => {
  for (const value of ['a', 'a.b', '*.a']) expect(passes([], value)).toBe(false);
});

// The reference expands: a name matches by comparing labels one by one, a wildcard by every label that could stand there.
// Three labels stand for all: two that patterns may use and one that none uses.
const alphabet = ['a', 'b', 'fresh'];
const nameMatches = (text: string, name: string): boolean => {
  const labels = name.split('.');
  if (text === '**') return true;
  if (text === '*') return labels.length === 1;
  const wanted = text.split('.');
  const stars = wanted[0] === '*' || wanted[0] === '**' ? wanted.shift() : undefined;
  const extra = labels.length - wanted.length;
  if (stars === undefined ? extra !== 0 : stars === '*' ? extra !== 1 : extra < 1) return false;
  return wanted.every((label, index) => labels[index + extra] === label);
};
const referencePasses = (patterns: readonly string[], value: string): boolean =>
  value.startsWith('*.')
    ? alphabet.every((label) => referencePasses(patterns, label + value.slice(1)))
    : patterns.some((text) => nameMatches(text, value));

test('ORD-12: on small alphabets it decides as a reference that tries every name', () => {
  const random = seeded(12);
  const name = () => random.some(1, 4, () => random.pick(['a', 'b'])).join('.');
  let passed = 0;
  for (let round = 0; round < 4_000; round++) {
    const patterns = random.some(0, 4, () =>
      random.pick([name, () => `*.${name()}`, () => `**.${name()}`, () => '*', () => '**'])(),
    );
    const set = dnsPatternSet(patterns.map(pattern));
    for (const value of random.some(4, 4, () => (random.below(2) === 0 ? name() : `*.${name()}`))) {
      const found = set.find({ value });
      expect(found !== undefined, `${value} under ${patterns.join(' ')}`).toBe(referencePasses(patterns, value));
      if (found !== undefined) expect(referencePasses([found.text], value)).toBe(true);
      if (found !== undefined) passed++;
    }
  }
  expect(passed).toBeGreaterThan(1_000);
});
