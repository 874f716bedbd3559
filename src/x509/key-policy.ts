// Which public keys may get a certificate or an account, and which are known to be weak.
import type { KeyObject } from 'node:crypto';
import type { LeafKeyType } from './algorithms.ts';
import { rsaWeakness } from './rsa-weakness.ts';
import { importPublicKey, parseSpki } from './spki.ts';
import { X509Error } from './x509-error.ts';

export type CheckedPublicKey = {
  readonly keyType: LeafKeyType;
  /** DER SubjectPublicKeyInfo, the bytes that were given. */
  readonly spki: Buffer;
  readonly key: KeyObject;
};

/** Throws `unsupported_key`, `weak_key` or `malformed`; `what` names the key in the message. */
export function checkPublicKey(spki: Buffer, what: string): CheckedPublicKey {
  const { keyType, rsa } = parseSpki(spki, what);
  const weakness = rsa === undefined ? undefined : rsaWeakness(rsa.modulus);
  if (weakness !== undefined) throw new X509Error('weak_key', `${what} is weak: ${weakness}. Make a new key.`);
  return { keyType, spki, key: importPublicKey(spki, what) };
}
