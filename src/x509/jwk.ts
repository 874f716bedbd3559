// A public key as a JSON Web Key, and its thumbprint: the name of a key that does not depend on how it was written.
import { createPublicKey, hash, type KeyObject } from 'node:crypto';
import { keyAlgorithms } from './algorithms.ts';
import { bitString, encodeDer, sequenceOfEncoded } from './der-writer.ts';
import { checkPublicKey } from './key-policy.ts';
import { parseSpki, spkiOf, unsupportedKey } from './spki.ts';
import { malformed, X509Error } from './x509-error.ts';

/** The first byte of a point that is written as two coordinates. */
const UNCOMPRESSED = 0x04;

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

export type KeyOfJwk = {
  /** DER SubjectPublicKeyInfo. */
  readonly spki: Buffer;
  readonly jwk: PublicJwk;
  readonly key: KeyObject;
};

/**
 * The key of a JWK that came from outside; members that say nothing of it are ignored (JWS-19). Throws X509Error for all
 * that is not one accepted, strong public key (JWS-14).
 */
export function keyOfJwk(jwk: unknown, what: string): KeyOfJwk {
  if (typeof jwk !== 'object' || jwk === null || Array.isArray(jwk)) throw malformed(what, 'is not a JSON object');
  const members = new Map<string, unknown>(Object.entries(jwk));
  if (PRIVATE_MEMBERS.some((name) => members.has(name)))
    throw new X509Error('malformed', `${what} holds a private key, which is known to others now. Make a new key.`);
  return members.get('kty') === 'RSA' ? rsaKey(members, what) : curveKey(members, what);
}

type Members = ReadonlyMap<string, unknown>;
type Curve = {
  readonly kty: 'EC' | 'OKP';
  readonly crv: string;
  readonly coordinates: readonly string[];
  readonly bytes: number;
  /** The SubjectPublicKeyInfo up to the first coordinate. */
  readonly head: Buffer;
};

const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];
const BASE64URL = /^[A-Za-z0-9_-]+$/;

const curves: readonly Curve[] = Object.values(keyAlgorithms).flatMap<Curve>(({ family, bits, spkiAlgorithm }) => {
  const bytes = Math.ceil(bits / 8);
  const headOf = (length: number, ...first: readonly number[]): Buffer => {
    const contents = Buffer.concat([Buffer.from(first), Buffer.alloc(length)]);
    return sequenceOfEncoded(spkiAlgorithm, encodeDer(bitString(contents))).subarray(0, -length);
  };
  if (family === 'rsa') return [];
  return family === 'ed25519'
    ? [{ kty: 'OKP', crv: 'Ed25519', coordinates: ['x'], bytes, head: headOf(bytes) }]
    : [{ kty: 'EC', crv: `P-${bits}`, coordinates: ['x', 'y'], bytes, head: headOf(2 * bytes, UNCOMPRESSED) }];
});

/** Coordinates have the full length of their curve, leading zeros included (RFC 7518 section 6.2.1.2). */
function curveKey(members: Members, what: string): KeyOfJwk {
  const [kty, crv] = [members.get('kty'), members.get('crv')];
  const curve = curves.find((row) => row.kty === kty && row.crv === crv);
  if (curve === undefined) throw unsupportedKey(what, `a key of kty ${shown(kty)} and crv ${shown(crv)}`);
  const numbers = curve.coordinates.map(
    (name) => [name, numberOf(members, name, (bytes) => bytes === curve.bytes, what)] as const,
  );
  const spki = Buffer.concat([curve.head, ...numbers.map(([, bytes]) => bytes)]);
  const written = Object.fromEntries(numbers.map(([name, bytes]) => [name, bytes.toString('base64url')]));
  const key = imported(() => createPublicKey({ key: spki, format: 'der', type: 'spki' }), what);
  return { spki, jwk: { crv: curve.crv, kty: curve.kty, ...written }, key };
}

/** Leading zero octets are more than RFC 7518 wants, and harmless (JWS-18). */
function rsaKey(members: Members, what: string): KeyOfJwk {
  const n = numberOf(members, 'n', (bytes) => bytes <= 1024, what).toString('base64url');
  const e = numberOf(members, 'e', (bytes) => bytes <= 16, what).toString('base64url');
  const key = imported(() => createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' }), what);
  const { spki } = checkPublicKey(spkiOf(key), what);
  return { spki, jwk: jwkOf(spki, what), key };
}

function numberOf(members: Members, name: string, isRight: (bytes: number) => boolean, what: string): Buffer {
  const value = members.get(name);
  const bytes = typeof value === 'string' && BASE64URL.test(value) ? Buffer.from(value, 'base64url') : undefined;
  if (bytes !== undefined && isRight(bytes.length)) return bytes;
  throw malformed(what, `has no "${name}" that is base64url of the right length`);
}

const shown = (value: unknown): string => (typeof value === 'string' && /^[\w-]{1,20}$/.test(value) ? value : '?');

/** OpenSSL refuses points that are not on their curve. */
function imported(read: () => KeyObject, what: string): KeyObject {
  try {
    return read();
  } catch {
    throw malformed(what, 'is not a valid public key: its numbers do not fit its type');
  }
}

/** RFC 7638: SHA-256 over the canonical JSON. */
export const thumbprintOf = (jwk: PublicJwk): Buffer => hash('sha256', JSON.stringify(jwk), 'buffer');

/** Base64urlUInt: no leading zero octets (JWS-18). */
function unsigned(value: bigint): string {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').toString('base64url');
}
