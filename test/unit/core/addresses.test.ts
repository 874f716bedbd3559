import { BlockList } from 'node:net';
import { expect, test } from 'vitest';
import {
  parseAddress,
  parseAddressRange,
  parseClientAddress,
  rangeHolds,
  rangeOf,
} from '../../../src/core/addresses.ts';
import { seeded } from '../../support/seeded.ts';

const range = (text: string) => {
  const result = parseAddressRange(text);
  if (!result.ok) throw new Error(result.refusal);
  return result.value;
};
const address = (text: string) => {
  const result = parseAddress(text);
  if (!result.ok) throw new Error(result.refusal);
  return result.value;
};

test.each([
  ['10.0.0.0/8', '10.0.0.0/8'],
  ['10.0.0.5', '10.0.0.5'],
  ['10.0.0.5/32', '10.0.0.5'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['::/0', '::/0'],
  ['FD00:0::/8', 'fd00::/8'],
  ['2001:DB8:0:0:0:0:0:1/128', '2001:db8::1'],
  ['::1.2.3.4', '::102:304'],
])('%s is the range %s', (text, canonical) => {
  expect(range(text).text).toBe(canonical);
});

test.each([
  ['10.0.0.5/8', 'write 10.0.0.0/8 for the range or 10.0.0.5 for the address'],
  ['2001:db8::1/32', 'write 2001:db8::/32'],
  ['10.0.0.0/33', '0 to 32'],
  ['::/129', '0 to 128'],
  ['10.0.0.0/08', '0 to 32'],
  ['10.0.0.0/', '0 to 32'],
  ['10.0.0.0/-1', '0 to 32'],
  ['10.0.0.0/255.0.0.0', '0 to 32'],
  ['::ffff:10.0.0.0/104', 'write 10.0.0.0/8'],
  ['::ffff:10.0.0.1', 'write 10.0.0.1'],
  ['10.0.0.0/8/8', 'not an IP address or a range'],
  ['10.0.0.0-10.0.0.9', 'not an IP address or a range'],
  ['fe80::%eth0/64', 'not an IP address or a range'],
  ['010.0.0.0/8', 'not an IP address or a range'],
  ['', 'not an IP address or a range'],
  ['x'.repeat(100_000), 'not an IP address or a range'],
])('%s is refused: %s', (text, advice) => {
  const result = parseAddressRange(text);
  expect(result).toMatchObject({ ok: false, refusal: expect.stringContaining(advice) });
  expect(JSON.stringify(result).length).toBeLessThan(300);
});

test('an IPv6 range never holds an IPv4 address, nor the other way round', () => {
  expect(rangeHolds(range('::/0'), address('10.0.0.1'))).toBe(false);
  expect(rangeHolds(range('0.0.0.0/0'), address('::a00:1'))).toBe(false);
});

test('a peer that comes in mapped or zoned form is the address it stands for', () => {
  const client = (text: string) => {
    const result = parseClientAddress(text);
    return result.ok ? result.value.text : undefined;
  };
  expect(client('::ffff:10.0.0.1')).toBe('10.0.0.1');
  expect(client('::FFFF:a00:1')).toBe('10.0.0.1');
  expect(client('fe80::1%eth0')).toBe('fe80::1');
  expect(client('10.0.0.1')).toBe('10.0.0.1');
  expect(client('unknown')).toBeUndefined();
  expect(client('10.0.0.1:80')).toBeUndefined();
});

test('the first range that holds the address is named; an empty list holds none', () => {
  const ranges = ['192.168.0.0/16', '10.0.0.0/8', '10.1.0.0/16'].map(range);
  expect(rangeOf(ranges, address('10.1.2.3'))?.text).toBe('10.0.0.0/8');
  expect(rangeOf(ranges, address('172.16.0.1'))).toBeUndefined();
  expect(rangeOf([], address('10.1.2.3'))).toBeUndefined();
});

test('texts read back to the same bytes, and URL agrees on the canonical form', () => {
  const random = seeded(5952);
  for (let round = 0; round < 2_000; round++) {
    const groups = random.some(8, 8, () => random.pick([0, 0, 0, 1, 0xffff, random.below(65_536)]));
    const text = groups.map((group) => group.toString(16)).join(':');
    const canonical = address(text).text;
    expect(`[${canonical}]`).toBe(new URL(`http://[${text}]/`).hostname);
    expect(address(canonical).bytes).toEqual(address(text).bytes);
  }
});

test('containment agrees with node:net on random ranges', () => {
  const random = seeded(4632);
  for (let round = 0; round < 500; round++) {
    const four = random.below(2) === 0;
    const bytes = random.some(four ? 4 : 16, four ? 4 : 16, () => random.pick([0, 1, 255, random.below(256)]));
    const prefix = random.below(four ? 33 : 129);
    const textOf = (list: readonly number[]) =>
      four
        ? list.join('.')
        : Array.from({ length: 8 }, (_, index) =>
            ((list[index * 2] ?? 0) * 256 + (list[index * 2 + 1] ?? 0)).toString(16),
          ).join(':');
    const network = bytes.map((byte, index) => byte & (0xff00 >> Math.max(0, Math.min(8, prefix - index * 8))));
    const list = new BlockList();
    list.addSubnet(textOf(network), prefix, four ? 'ipv4' : 'ipv6');
    const near = bytes.map((byte, index) =>
      index === random.below(bytes.length) ? byte ^ (1 << random.below(8)) : byte,
    );
    for (const candidate of [bytes, near]) {
      const parsedRange = parseAddressRange(`${textOf(network)}/${prefix}`);
      if (!parsedRange.ok) continue; // a mapped range
      expect(rangeHolds(parsedRange.value, address(textOf(candidate)))).toBe(
        list.check(textOf(candidate), four ? 'ipv4' : 'ipv6'),
      );
    }
  }
});
