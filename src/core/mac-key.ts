// MAC keys of EAB tokens.
import { randomBytes } from 'node:crypto';

const BYTES = 32;

/** EAB-8: 43 characters, which never begin like an option of a command line. */
export function newMacKey(random: () => Buffer = () => randomBytes(BYTES)): Buffer {
  for (;;) {
    const key = random();
    if (!macKeyText(key).startsWith('-')) return key;
  }
}

/** As clients are given it. */
export const macKeyText = (key: Buffer): string => key.toString('base64url');
