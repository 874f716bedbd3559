// HMAC-SHA-256 (RFC 2104) of short messages by a key that is used often. An Hmac of node:crypto is an object that has to be
// made, and cleaned away, for each message: with many a second that costs several times what the hashing does. So do
// digests that come as buffers.
import { hash } from 'node:crypto';

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;

/** The key is of 64 bytes at most. */
export function hmacSha256(key: Buffer): (message: Buffer) => Buffer {
  if (key.length > BLOCK_BYTES) throw new RangeError(`A key of ${key.length} bytes is longer than ${BLOCK_BYTES}.`);
  const block = Buffer.concat([key], BLOCK_BYTES);
  const innerPad = block.map((byte) => byte ^ 0x36);
  const outerPad = block.map((byte) => byte ^ 0x5c);
  const outer = Buffer.concat([outerPad], BLOCK_BYTES + DIGEST_BYTES);
  // Kept from one message to the next, which is most often as long.
  let inner = Buffer.from(innerPad);
  return (message) => {
    const length = BLOCK_BYTES + message.length;
    if (inner.length !== length) inner = Buffer.concat([innerPad], length);
    message.copy(inner, BLOCK_BYTES);
    outer.write(digest(inner), BLOCK_BYTES, 'latin1');
    return Buffer.from(digest(outer), 'latin1');
  };
}

const digest = (bytes: Buffer): string => hash('sha256', bytes, 'latin1');
