// AES-256-GCM boxes for small secrets: version, nonce, ciphertext, tag.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Sealer } from '../core/ports.ts';

const ALGORITHM = 'aes-256-gcm';
const VERSION = Buffer.of(1);
// 96 random bits: far below 2^32 boxes are made under one key.
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = VERSION.length + NONCE_BYTES;

export function sealerOf(key: Buffer): Sealer {
  return {
    seal(plain, associatedData) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(associated(associatedData));
      return Buffer.concat([VERSION, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    open(box, associatedData) {
      if (box.length < HEAD_BYTES + TAG_BYTES || !box.subarray(0, VERSION.length).equals(VERSION)) {
        throw new Error('This is not a box of version 1; it was made by a newer program or is damaged.');
      }
      const decipher = createDecipheriv(ALGORITHM, key, box.subarray(VERSION.length, HEAD_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(associated(associatedData)).setAuthTag(box.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(box.subarray(HEAD_BYTES, -TAG_BYTES)), decipher.final()]);
    },
  };
}

/** The version is authenticated too, so that a later form cannot be passed off as this one. */
const associated = (data: string): Buffer => Buffer.concat([VERSION, Buffer.from(data, 'utf8')]);
