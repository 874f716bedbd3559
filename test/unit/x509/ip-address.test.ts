// Addresses and networks: one text for each.
import { expect, test } from 'vitest';
import { formatAddress, formatNetwork, parseAddress, parseNetwork } from '../../../src/x509/ip-address.ts';

test.each([
  ['10.0.0.1', '0a000001'],
  ['::', '00'.repeat(16)],
  ['::1', `${'00'.repeat(15)}01`],
  ['1::', `0001${'00'.repeat(14)}`],
  ['2001:db8::8:800:200c:417a', '20010db80000000000080800200c417a'],
  ['2001:db8:0:1:1:1:1:1', '20010db8000000010001000100010001'],
  ['1:0:0:2::3', '00010000000000020000000000000003'],
  ['fe80::1:0:0:2', 'fe800000000000000001000000000002'],
  ['::ffff:a00:1', `${'00'.repeat(10)}ffff0a000001`],
])('reads and writes %s', (text, hex) => {
  expect(formatAddress(Buffer.from(hex, 'hex'))).toBe(text);
  expect(parseAddress(text).toString('hex')).toBe(hex);
});

test('reads other spellings of the same address', () => {
  expect(formatAddress(parseAddress('2001:0DB8:0:0:0:0:0:1'))).toBe('2001:db8::1');
  expect(formatAddress(parseAddress('::FFFF:10.0.0.1'))).toBe('::ffff:a00:1');
  expect(formatAddress(parseAddress('1:2:3:4:5:6:7::'))).toBe('1:2:3:4:5:6:7:0');
});

test.each(['', '10.0.0', '10.0.0.256', '010.0.0.1', '10.0.0.1 ', '0x0a000001', 'fe80::1%eth0', '1::2::3', 'example'])(
  'refuses "%s" as an address',
  (text) => {
    expect(() => parseAddress(text)).toThrow(expect.objectContaining({ code: 'bad_name' }));
  },
);

test.each([
  ['10.0.0.0/8', '0a000000ff000000'],
  ['192.168.4.0/22', 'c0a80400fffffc00'],
  ['0.0.0.0/0', '0000000000000000'],
  ['10.1.2.3/32', '0a010203ffffffff'],
  ['2001:db8::/32', `20010db8${'00'.repeat(12)}ffffffff${'00'.repeat(12)}`],
  ['::/0', '00'.repeat(32)],
])('reads and writes the network %s', (text, hex) => {
  expect(parseNetwork(text).toString('hex')).toBe(hex);
  expect(formatNetwork(Buffer.from(hex, 'hex'), 'the name')).toBe(text);
});

test.each(['10.0.0.0', '10.0.0.0/33', '::/129', '10.0.0.1/8', '10.0.0.0/', '10.0.0.0/08x', 'fe80::%1/64'])(
  'refuses "%s" as a network',
  (text) => {
    expect(() => parseNetwork(text)).toThrow(expect.objectContaining({ code: 'bad_name' }));
  },
);

test('refuses masks with gaps and of odd sizes', () => {
  expect(() => formatNetwork(Buffer.from('0a000000ff00ff00', 'hex'), 'the name')).toThrow('gaps');
  expect(() => formatNetwork(Buffer.from('0a0000ffff00', 'hex'), 'the name')).toThrow('6 octets');
});
