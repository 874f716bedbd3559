import { expect, test } from 'vitest';
import { formatId, newUuid, parseId } from '../../../src/core/ids.ts';

const zeroes = Buffer.alloc(10);

test('a uuid carries its millisecond, version and variant', () => {
  const uuid = newUuid(new Date(0x0192_0000_0001), zeroes);
  expect(uuid).toBe('01920000-0001-7000-8000-000000000000');
});

test('ACC-14: 74 bits of a uuid are random, and none of them counts', () => {
  const bits = Array.from({ length: 64 }, () => BigInt(`0x${newUuid(new Date(0)).replaceAll('-', '')}`));
  const [first = 0n] = bits;
  const moving = bits.reduce((seen, one) => seen | (one ^ first), 0n);
  expect(moving.toString(2).replaceAll('0', '')).toHaveLength(74);
});

test('sorting by id is sorting by creation', () => {
  const ids = [1, 2, 3, 1_000_000].map((ms) => formatId('ordr', newUuid(new Date(1_700_000_000_000 + ms))));
  expect([...ids].sort()).toEqual(ids);
});

test('the text form is that of the TypeID specification', () => {
  expect(formatId('dir', '01890a5d-ac96-774b-bcce-b302099a8057')).toBe('dir_01h455vb4pex5vsknk084sn02q');
  expect(parseId('dir', 'dir_01h455vb4pex5vsknk084sn02q')).toBe('01890a5d-ac96-774b-bcce-b302099a8057');
});

test('every uuid comes back from its text form', () => {
  for (const uuid of [
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    ...Array.from({ length: 100 }, () => newUuid(new Date())),
  ]) {
    expect(parseId('scrt', formatId('scrt', uuid))).toBe(uuid);
  }
});

test.each([
  ['another prefix', 'eab_01h455vb4pex5vsknk084sn02q'],
  ['upper case', 'dir_01H455VB4PEX5VSKNK084SN02Q'],
  ['a letter outside the alphabet', 'dir_01h455vb4pex5vsknk084sn0iq'],
  ['more than 128 bits', 'dir_81h455vb4pex5vsknk084sn02q'],
  ['too short', 'dir_01h455vb4pex5vsknk084sn02'],
  ['too long', 'dir_01h455vb4pex5vsknk084sn02qq'],
  ['a letter of no code page', 'dir_01h455vb4pex5vsknk084sn0\u0662q'],
  ['a prefix that goes on', 'dirx_01h455vb4pex5vsknk084sn02'],
  ['no line between prefix and characters', 'dir-01h455vb4pex5vsknk084sn02q'],
  ['SQL', "dir_'; drop table orders; --"],
  ['nothing', ''],
])('an id with %s is no id', (_what, text) => {
  expect(parseId('dir', text)).toBeUndefined();
});
