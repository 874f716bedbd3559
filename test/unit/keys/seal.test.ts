// Boxes: what opens them and what does not.
import { expect, test } from 'vitest';
import { sealerOf } from '../../../src/keys/seal.ts';

const sealer = sealerOf(Buffer.alloc(32, 7));
const plain = Buffer.from('mac key');

test('opens what it sealed, for the same associated data', () => {
  expect(sealer.open(sealer.seal(plain, 'eab_1'), 'eab_1')).toEqual(plain);
  expect(sealer.open(sealer.seal(Buffer.alloc(0), ''), '')).toEqual(Buffer.alloc(0));
});

test('never makes the same box twice', () => {
  expect(sealer.seal(plain, 'eab_1')).not.toEqual(sealer.seal(plain, 'eab_1'));
});

test('refuses other data, another key, and every changed octet', () => {
  const box = sealer.seal(plain, 'eab_1');
  expect(() => sealer.open(box, 'eab_2')).toThrow();
  expect(() => sealerOf(Buffer.alloc(32, 8)).open(box, 'eab_1')).toThrow();
  for (let at = 0; at < box.length; at++) {
    const changed = Buffer.from(box);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    expect(() => sealer.open(changed, 'eab_1')).toThrow();
  }
  for (let length = 0; length < box.length; length++)
    expect(() => sealer.open(box.subarray(0, length), 'eab_1')).toThrow();
});

test('says when a box is of another version', () => {
  const box = sealer.seal(plain, 'eab_1');
  box.writeUInt8(2, 0);
  expect(() => sealer.open(box, 'eab_1')).toThrow('version 1');
});
