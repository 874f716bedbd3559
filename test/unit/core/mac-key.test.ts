// MAC keys of EAB tokens as clients have to carry them.
import { expect, test } from 'vitest';
import { macKeyText, newMacKey } from '../../../src/core/mac-key.ts';

test('EAB-8: a MAC key has 256 bits and 43 characters that survive a command line', () => {
  const key = newMacKey();
  expect(key).toHaveLength(32);
  expect(macKeyText(key)).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_-]{42}$/);
});

test('EAB-8: one that would begin like an option is not taken', () => {
  const drawn = [Buffer.alloc(32, 0xf8), Buffer.alloc(32, 0xfb), Buffer.alloc(32, 0xfc)];
  expect(macKeyText(drawn[0] ?? Buffer.alloc(0))).toMatch(/^-/);
  expect(newMacKey(() => drawn.shift() ?? Buffer.alloc(0))).toEqual(Buffer.alloc(32, 0xfc));
});
