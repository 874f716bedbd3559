// Our HMAC beside that of node:crypto.
import { createHmac, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { hmacSha256 } from '../../../src/core/hmac.ts';

test.each([
  [0, 0],
  [1, 12],
  [32, 12],
  [64, 200],
])('a key of %i bytes and a message of %i bytes give the HMAC of RFC 2104', (keyBytes, messageBytes) => {
  const [key, message] = [randomBytes(keyBytes), randomBytes(messageBytes)];
  expect(hmacSha256(key)(message)).toEqual(createHmac('sha256', key).update(message).digest());
});

test('a MAC is of its own message alone, whatever came before it, and stays as it was given', () => {
  const key = randomBytes(32);
  const mac = hmacSha256(key);
  const messages = [12, 12, 40, 0, 12].map((length) => randomBytes(length));
  const macs = messages.map((message) => mac(message));
  expect(macs).toEqual(messages.map((message) => createHmac('sha256', key).update(message).digest()));
});

test('a key that would have to be hashed first is refused', () => {
  expect(() => hmacSha256(randomBytes(65))).toThrow(RangeError);
});
