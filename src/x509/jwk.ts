// A public key as a JSON Web Key, and its thumbprint: the name of a key that does not depend on how it was written.
import { createHash } from 'node:crypto';
import { keyAlgorithms } from './algorithms.ts';
import { parseSpki } from './spki.ts';

/** The required members alone, in lexicographic order (RFC 7638 section 3.2). */
export type PublicJwk = Readonly<Record<string, string>>;

/** Throws as parseSpki does; `what` names the key in the message. */
export function jwkOf(spki: Buffer, what: string): PublicJwk {
  const { keyType, keyBits, rsa } = parseSpki(spki, what);
  if (rsa !== undefined) return { e: unsigned(rsa.exponent), kty: 'RSA', n: unsigned(rsa.modulus) };
  const { family, bits } = keyAlgorithms[keyType];
  if (family === 'ed25519') return { crv: 'Ed25519', kty: 'OKP', x: keyBits.toString('base64url') };
  // An uncompressed point: 0x04 and two coordinates of full length, leading zeros included (RFC 7518 section 6.2.1.2).
  const endOfX = 1 + Math.ceil(bits / 8);
  const [x, y] = [keyBits.subarray(1, endOfX), keyBits.subarray(endOfX)];
  return { crv: `P-${bits}`, kty: 'EC', x: x.toString('base64url'), y: y.toString('base64url') };
}

/** RFC 7638: SHA-256 over the canonical JSON. */
export const thumbprintOf = (jwk: PublicJwk): Buffer => createHash('sha256').update(JSON.stringify(jwk)).digest();

/** Base64urlUInt: no leading zero octets (JWS-18). */
function unsigned(value: bigint): string {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').toString('base64url');
}
