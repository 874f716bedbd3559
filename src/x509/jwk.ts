// A public key as a JSON Web Key, and its thumbprint: the name of a key that does not depend on how it was written.
import { createHash, createPublicKey } from 'node:crypto';
import { keyAlgorithms } from './algorithms.ts';
import { checkPublicKey } from './key-policy.ts';
import { parseSpki, spkiOf, unsupportedKey } from './spki.ts';
import { malformed, X509Error } from './x509-error.ts';

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

/**
 * DER SubjectPublicKeyInfo of a JWK that came from outside; members that say nothing of the key are ignored (JWS-19).
 * Throws X509Error for all that is not one accepted, strong public key (JWS-14).
 */
export function spkiOfJwk(jwk: unknown, what: string): Buffer {
  if (typeof jwk !== 'object' || jwk === null || Array.isArray(jwk)) throw malformed(what, 'is not a JSON object');
  const members = new Map<string, unknown>(Object.entries(jwk));
  if (PRIVATE_MEMBERS.some((name) => members.has(name)))
    throw new X509Error('malformed', `${what} holds a private key, which is known to others now. Make a new key.`);
  const kty = members.get('kty');
  const lengths = kty === 'RSA' ? RSA_MEMBERS : curveMembers(kty, members.get('crv'), what);
  const numbers = Object.entries(lengths).map(([name, isRight]) => {
    const value = members.get(name);
    if (typeof value !== 'string' || !BASE64URL.test(value) || !isRight(Buffer.from(value, 'base64url').length))
      throw malformed(what, `has no "${name}" that is base64url of the right length`);
    return [name, value];
  });
  const crv = members.get('crv');
  const required: Record<string, string> = {
    ...Object.fromEntries(numbers),
    kty: String(kty),
    ...(kty !== 'RSA' && { crv: String(crv) }),
  };
  return checkPublicKey(imported(required, what), what).spki;
}

type Lengths = Readonly<Record<string, (bytes: number) => boolean>>;

const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];
const BASE64URL = /^[A-Za-z0-9_-]+$/;
// Leading zero octets are more than RFC 7518 wants, and harmless (JWS-18).
const RSA_MEMBERS: Lengths = { n: (bytes) => bytes <= 1024, e: (bytes) => bytes <= 16 };

/** Coordinates have the full length of their curve, leading zeros included (RFC 7518 section 6.2.1.2). */
function curveMembers(kty: unknown, crv: unknown, what: string): Lengths {
  if (kty === 'OKP' && crv === 'Ed25519') return { x: (bytes) => bytes === 32 };
  const row = Object.values(keyAlgorithms).find(({ family, bits }) => family === 'ec' && crv === `P-${bits}`);
  if (kty !== 'EC' || row === undefined) throw unsupportedKey(what, `a key of kty ${shown(kty)} and crv ${shown(crv)}`);
  const isRight = (bytes: number): boolean => bytes === Math.ceil(row.bits / 8);
  return { x: isRight, y: isRight };
}

const shown = (value: unknown): string => (typeof value === 'string' && /^[\w-]{1,20}$/.test(value) ? value : '?');

/** OpenSSL refuses points that are not on their curve. */
function imported(jwk: Record<string, string>, what: string): Buffer {
  try {
    return spkiOf(createPublicKey({ key: jwk, format: 'jwk' }));
  } catch {
    throw malformed(what, 'is not a valid public key: its numbers do not fit its type');
  }
}

/** RFC 7638: SHA-256 over the canonical JSON. */
export const thumbprintOf = (jwk: PublicJwk): Buffer => createHash('sha256').update(JSON.stringify(jwk)).digest();

/** Base64urlUInt: no leading zero octets (JWS-18). */
function unsigned(value: bigint): string {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').toString('base64url');
}
