import { isIP } from 'node:net';
import { expect, test } from 'vitest';
import { ADDRESS_RANGE } from '../../../src/schema/address-pattern.ts';
import { formatNamed } from '../../../src/schema/formats.ts';

const pattern = new RegExp(ADDRESS_RANGE, 'u');
const accepts = (text: string): boolean => formatNamed('address-range')?.accepts(text) ?? false;

const GROUPS = ['0', 'a', '12', 'fff', 'ABCD', '12345', ''];
const TAILS = ['', ':1.2.3.4', ':256.2.3.4', ':1.2.3', '1.2.3.4'];

/** All ways to leave out groups of an address of up to nine, with and without an IPv4 end. */
function* candidates(): Generator<string> {
  for (let count = 1; count <= 9; count++)
    for (let gap = -1; gap <= count; gap++)
      for (const group of GROUPS)
        for (const tail of TAILS) {
          const groups = Array<string>(count).fill(group);
          yield gap < 0
            ? groups.join(':') + tail
            : `${groups.slice(0, gap).join(':')}::${groups.slice(gap).join(':')}${tail}`;
        }
}

test('the pattern takes the addresses that Node takes, and no others', () => {
  const differing = [...candidates()].filter((text) => pattern.test(text) !== isIP(text) > 0);
  expect(differing).toEqual([]);
});

test.each([
  '0.0.0.0',
  '255.255.255.255',
  '1.2.3.04',
  '1.2.3.256',
  '1.2.3',
  '1.2.3.4.5',
  ' 1.2.3.4',
  '1.2.3.4\n',
  '::',
  ':::',
])('%j is an address for both or for neither', (text) => {
  expect(pattern.test(text)).toBe(accepts(text));
});

test.each(['10.0.0.0', '::1'])('the prefixes of %s are those of its family', (address) => {
  for (const prefix of [...Array(200).keys(), '', '08', '-1', '1/2', 'a'])
    expect([prefix, pattern.test(`${address}/${prefix}`)]).toEqual([prefix, accepts(`${address}/${prefix}`)]);
});
