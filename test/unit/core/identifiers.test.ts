import { expect, test } from 'vitest';
import { parseIdentifier, parseIdentifiers } from '../../../src/core/identifiers.ts';

const read = (type: string, value: string) => {
  const result = parseIdentifier({ type, value });
  return result.ok ? result.identifier.value : `${result.refusal.kind}: ${result.refusal.detail}`;
};

test.each([
  ['a', 'a'],
  ['shop.corp.example', 'shop.corp.example'],
  ['Shop.CORP.example', 'shop.corp.example'],
  ['x.local', 'x.local'],
  ['db1', 'db1'],
  ['1.a', '1.a'],
  ['0x7f.a', '0x7f.a'],
  ['a-b.c--d.e1', 'a-b.c--d.e1'],
  ['a.1e5', 'a.1e5'],
  ['a.0xg', 'a.0xg'],
  [
    `${'x'.repeat(63)}.${'y'.repeat(63)}.${'z'.repeat(63)}.${'w'.repeat(61)}`,
    `${'x'.repeat(63)}.${'y'.repeat(63)}.${'z'.repeat(63)}.${'w'.repeat(61)}`,
  ],
])('ORD-4, ORD-6, ORD-7: %s may be ordered', (value, stored) => {
  expect(read('dns', value)).toBe(stored);
});

test.each([
  '',
  '.',
  'a.',
  'a..b',
  '.a',
  '-a',
  'a-',
  'a.-b',
  'a_b',
  'a b',
  'a/b',
  'a:80',
  'a\0.evil',
  'a.com\0.evil',
  'a\nb',
  ' a',
  'a ',
  `${'x'.repeat(64)}.a`,
  `${'a.'.repeat(127)}a`,
  'münchen.example',
  'a。b',
  'ａ.example',
  '\u212a.example',
  'a\u200b.b',
  '%61.b',
])('ORD-4, SEC-24: %j is malformed', (value) => {
  expect(read('dns', value)).toMatch(/^malformed: .*\.$/);
});

test.each([
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '2130706433',
  '0x7f.1',
  '0x7f000001',
  '0X7F000001',
  '0177.0.0.1',
  '017700000001',
  '0x7f.0x0.0x0.0x1',
  '00000177.0.0.1',
  '0',
  '0x',
  '1',
  '10.1',
  '1.2.3.4.5',
  '256.256.256.256',
  'a.1',
  '*.1',
  '*.0.0.1',
  '0xdeadbeef',
  '::1',
  '[::1]',
  'fe80::1%eth0',
  '1.2.3.4.',
  '127.0.0.0x1',
  '08.1',
])('SEC-2: %s as dns is malformed', (value) => {
  expect(read('dns', value)).toMatch(/^malformed: /);
});

test.each([
  'xn--mnchen-3ya.example',
  'xn--bcher-kva',
  'xn--fa-hia.de',
  'xn--80ak6aa92e.com',
  'xn--ngbrx4e',
  'a.XN--MNCHEN-3YA',
  'xn--zckzah',
  'xn--ll-0ea.cat',
  'xn--ngb8i',
  'xn--ccka0y',
  'xn--11b2ezcw70k',
  'xn--wva4j',
  'xn--4db4e',
  'xn--w6j',
  'xn--mgb14b',
])('ORD-5: %s decodes and encodes to itself', (value) => {
  expect(read('dns', value)).toBe(value.toLowerCase());
});

test.each([
  ['xn--', 'nothing'],
  ['xn--a', 'no delta'],
  ['xn--abc-', 'ASCII alone'],
  ['xn--zz--', 'ends in a hyphen'],
  ['xn--xn--a-', 'ASCII alone'],
  ['xn--ls8h.example', 'an emoji'],
  ['xn--i-7iq.example', 'a symbol'],
  ['xn--mnchen-3YA0000000', 'garbage'],
  ['xn--n3h.example', 'a snowman'],
  ['ab--cd.example', 'reserved'],
  ['xx--mnchen-3ya', 'reserved'],
  ['xn--ab-0ea.example', 'a middle dot without l on both sides'],
  ['xn--0ca.xn--99999999999', 'an overflow'],
  ['xn--munchen-gie', 'an accent that stands apart'],
  ['xn--mnchen-psa', 'a capital letter'],
  ['xn--ngba5e', 'a tatweel'],
  ['xn--e8jtl', 'an iteration mark'],
  ['xn--abc-cec', 'an accent first'],
  ['xn--ab-5da13a', 'a soft hyphen'],
  ['xn--ngb8ixr', 'digits of two kinds'],
  ['xn--vek', 'a katakana dot alone'],
  ['xn--ab-m1t', 'a joiner where nothing joins'],
  ['xn--wva3j', 'a Greek sign at the end'],
  ['xn--4db3e', 'a Hebrew sign first'],
  ['xn--tda3219j', 'a ligature'],
  ['xn--a-zhc', 'both writing directions'],
])('ORD-5, SEC-26: %s is malformed (%s)', (value) => {
  expect(read('dns', value)).toMatch(/^malformed: /);
});

test('ORD-5: a U-label is refused with its A-label form', () => {
  expect(read('dns', 'shop.münchen.example')).toContain('write it as shop.xn--mnchen-3ya.example');
  expect(read('dns', '*.münchen.example')).toContain('write it as xn--mnchen-3ya.example');
});

test('ORD-8: a wildcard is the whole first label, once', () => {
  const result = parseIdentifier({ type: 'dns', value: '*.Shop.example' });
  expect(result).toMatchObject({
    ok: true,
    identifier: { value: '*.shop.example', name: 'shop.example', wildcard: true },
  });
  for (const value of [
    '*',
    '*.',
    'a*.x',
    '*a.x',
    '*.*.x',
    'foo.*.x',
    '**.x',
    '*.x.*',
    '.*.x',
    '*..x',
    `*.${'a.'.repeat(126)}`,
    `*.${'a.'.repeat(125)}ab`,
  ]) {
    expect(read('dns', value), value).toMatch(/^malformed: /);
  }
  expect(read('dns', 'a*.x')).toContain('can only be the whole first label');
});

test.each([
  '10.0.0.1',
  '255.255.255.255',
  '0.0.0.0',
  '::1',
  '::',
  '2001:db8::1',
  '2001:db8:0:1:1:1:1:1',
  '64:ff9b::c000:221',
  '1::',
  '0:0:2::3:0',
])('ORD-10: %s is canonical', (value) => {
  expect(read('ip', value)).toBe(value);
});

test.each([
  ['2001:DB8::1', 'write 2001:db8::1'],
  ['2001:0db8::1', 'write 2001:db8::1'],
  ['2001:db8:0:0:0:0:0:1', 'write 2001:db8::1'],
  ['2001:db8::0:1', 'write 2001:db8::1'],
  ['2001:db8::1:1:1:1:1', 'write 2001:db8:0:1:1:1:1:1'],
  ['::1.2.3.4', 'write ::102:304'],
  ['::ffff:1.2.3.4', 'write 1.2.3.4'],
  ['::ffff:102:304', 'write 1.2.3.4'],
  ['::FFFF:0:1', 'write 0.0.0.1'],
])('ORD-10: %s is malformed, %s', (value, advice) => {
  expect(read('ip', value)).toMatch(/^malformed: /);
  expect(read('ip', value)).toContain(advice);
});

test.each([
  '',
  '1.2.3',
  '01.2.3.4',
  '1.2.3.4/32',
  '::1/128',
  'fe80::1%eth0',
  'fe80::1%25eth0',
  '[::1]',
  '127.1',
  '0x7f.0.0.1',
  '1.2.3.256',
  ' 1.2.3.4',
  '1.2.3.4\n',
  ':::',
  '1::2::3',
  'localhost',
  'x'.repeat(100_000),
])('ORD-10, SEC-35: %s is no address', (value) => {
  const detail = read('ip', value);
  expect(detail).toMatch(/^malformed: /);
  expect(detail.length).toBeLessThan(250);
});

test.each(['', 'DNS', 'ip ', 'email', '__proto__', 'constructor', 'dns\n'])(
  'SEC-10: type %j is unsupported',
  (type) => {
    expect(read(type, 'a')).toMatch(/^unsupported_type: /);
  },
);

test('ORD-2, ORD-9: each identifier once, in order; a name and its wildcard are two', () => {
  const { identifiers, refusals } = parseIdentifiers([
    { type: 'dns', value: 'b.example' },
    { type: 'dns', value: '*.b.example' },
    { type: 'dns', value: 'B.example' },
    { type: 'ip', value: '10.0.0.1' },
    { type: 'dns', value: 'bad_name' },
    { type: 'ip', value: '10.0.0.1' },
    { type: 'tel', value: '1' },
  ]);
  expect(identifiers.map(({ value }) => value)).toEqual(['b.example', '*.b.example', '10.0.0.1']);
  expect(refusals.map(({ identifier, kind }) => `${identifier.value} ${kind}`)).toEqual([
    'bad_name malformed',
    '1 unsupported_type',
  ]);
});

test('ERR-8: no detail breaks a line, however the identifier is written', () => {
  for (const value of ['a\r\nb', '*\r\n', 'a.\u2028', '\u202ea'])
    expect(read('dns', value)).not.toMatch(/[\r\n\u2028\u202e]/);
  expect(read('d\r\n', 'x')).not.toMatch(/[\r\n]/);
});
