// HMAC-SHA-256 (RFC 2104) of short messages by a key that is used often. An Hmac of node:crypto is an object that has to be
// made, and cleaned away, for each message: with many a second that costs several times what the hashing does.
import { hash } from 'node:crypto';

const BLOCK_BYTES = 64;

/** The key is of 64 bytes at most. */
export function hmacSha256(key: Buffer): (message: Buffer) => Buffer {
  if (key.length > BLOCK_BYTES) throw new RangeError(`A key of ${key.length} bytes is longer than ${BLOCK_BYTES}.`);
  const block = Buffer.concat([key], BLOCK_BYTES);
  const inner = block.map((byte) => byte ^ 0x36);
  const outer = block.map((byte) => byte ^ 0x5c);
  const after = (pad: Uint8Array, message: Buffer) => hash('sha256', Buffer.concat([pad, message]), 'buffer');
  return (message) => after(outer, after(inner, message));
}
