// SubjectPublicKeyInfo: which key type it holds, or what is wrong with it by name.
import { createPublicKey, hash, type KeyObject } from 'node:crypto';
import { type KeyAlgorithm, keyAlgorithms, type LeafKeyType, leafKeyTypes } from './algorithms.ts';
import { bytesOf, type DerNode, elementsOf, parseDer, readBits, readInteger, readOid, tags } from './der.ts';
import { oids } from './oids.ts';
import { malformed, X509Error } from './x509-error.ts';

export type RsaNumbers = { readonly modulus: bigint; readonly exponent: bigint };

export type PublicKeyInfo = {
  readonly keyType: LeafKeyType;
  /** Contents of the subjectPublicKey BIT STRING. */
  readonly keyBits: Buffer;
  /** Set for RSA keys alone. */
  readonly rsa: RsaNumbers | undefined;
};

const acceptedAlgorithms: ReadonlySet<string> = new Set([oids.rsaEncryption, oids.ecPublicKey, oids.ed25519]);

const refusedAlgorithms: Readonly<Record<string, string>> = {
  '1.2.840.10040.4.1': 'a DSA key',
  '1.2.840.10046.2.1': 'a Diffie-Hellman key',
  '1.2.840.113549.1.3.1': 'a Diffie-Hellman key',
  [oids.rsassaPss]: 'an RSA key that is bound to RSASSA-PSS',
  '1.2.840.113549.1.1.7': 'an RSA key that is bound to RSAES-OAEP',
  '1.3.101.110': 'an X25519 key',
  '1.3.101.111': 'an X448 key',
  '1.3.101.113': 'an Ed448 key',
  '2.16.840.1.101.3.4.3.17': 'an ML-DSA-44 key',
  '2.16.840.1.101.3.4.3.18': 'an ML-DSA-65 key',
  '2.16.840.1.101.3.4.3.19': 'an ML-DSA-87 key',
};

const refusedCurves: Readonly<Record<string, string>> = {
  '1.2.840.10045.3.1.1': 'P-192',
  '1.3.132.0.33': 'P-224',
  '1.3.132.0.10': 'secp256k1',
  '1.3.36.3.3.2.8.1.1.7': 'brainpoolP256r1',
  '1.3.36.3.3.2.8.1.1.11': 'brainpoolP384r1',
  '1.3.36.3.3.2.8.1.1.13': 'brainpoolP512r1',
  '1.2.156.10197.1.301': 'SM2',
};

const ACCEPTED = 'accepted are RSA with 2048, 3072 or 4096 bits, the curves P-256, P-384 and P-521, and Ed25519';

/** Throws `unsupported_key` with the name of what was found, or `malformed`. Does not check points and numbers. */
export function parseSpki(spki: DerNode | Buffer, what: string): PublicKeyInfo {
  const node = Buffer.isBuffer(spki) ? parseDer(spki, what) : spki;
  const elements = elementsOf(node, tags.sequence, what);
  const kind = readKeyAlgorithm(elements.next('algorithm'), what);
  const keyBits = readBits(elements.next('key bits'), what);
  elements.end();
  if (kind === 'rsa') {
    const rsa = readRsaPublicKey(keyBits, what);
    return { keyType: rsaKeyType(rsa, what), keyBits, rsa };
  }
  checkKeyBits(keyAlgorithms[kind], keyBits, what);
  return { keyType: kind, keyBits, rsa: undefined };
}

/** For node:crypto. OpenSSL refuses points that are not on their curve; the curves in use have no other subgroups. */
export function importPublicKey(spki: Buffer, what: string): KeyObject {
  parseSpki(spki, what);
  try {
    return createPublicKey({ key: spki, format: 'der', type: 'spki' });
  } catch {
    throw malformed(what, 'is not a valid public key: its numbers do not fit its type');
  }
}

/** The key type of a SubjectPublicKeyInfo or of a key of node:crypto; undefined for all that is not accepted here. */
export function keyTypeOf(key: Buffer | KeyObject): LeafKeyType | undefined {
  const spki = Buffer.isBuffer(key) ? key : spkiOf(key);
  try {
    return parseSpki(spki, 'the key').keyType;
  } catch (error) {
    if (error instanceof X509Error) return undefined;
    throw error;
  }
}

/** DER SubjectPublicKeyInfo of a public key, or of the public half of a private one. */
export const spkiOf = (key: KeyObject): Buffer =>
  (key.type === 'private' ? createPublicKey(key) : key).export({ type: 'spki', format: 'der' });

/** RFC 7093 section 2 method 1: the leftmost 160 bits of the SHA-256 of the key bits. */
export function keyIdentifierOf(spki: Buffer): Buffer {
  const elements = elementsOf(parseDer(spki, 'the public key'), tags.sequence, 'the public key');
  elements.next('algorithm');
  const keyBits = readBits(elements.next('key bits'), 'the public key');
  return hash('sha256', keyBits, 'buffer').subarray(0, 20);
}

/** Reads an AlgorithmIdentifier of public or private keys. RSA is told apart by its modulus later. */
export function readKeyAlgorithm(node: DerNode, what: string): Exclude<LeafKeyType, `rsa_${string}`> | 'rsa' {
  const bytes = bytesOf(node);
  const row = leafKeyTypes.find((keyType) => keyAlgorithms[keyType].spkiAlgorithm.equals(bytes));
  switch (row) {
    case 'ec_256':
    case 'ec_384':
    case 'ec_521':
    case 'ed25519':
      return row;
    case 'rsa_2048':
    case 'rsa_3072':
    case 'rsa_4096':
      return 'rsa';
    case undefined:
      throw refusedAlgorithm(node, what);
  }
}

/** The key type of an RSA modulus; only the sizes that everybody tests are accepted. */
export function rsaKeyType({ modulus, exponent }: RsaNumbers, what: string): LeafKeyType {
  const bits = modulus.toString(2).length;
  const keyType = leafKeyTypes.find((row) => keyAlgorithms[row].family === 'rsa' && keyAlgorithms[row].bits === bits);
  if (keyType === undefined) throw unsupportedKey(what, `an RSA key with ${bits} bits`);
  if (exponent !== 65_537n) throw unsupportedKey(what, 'an RSA key with a public exponent other than 65537');
  return keyType;
}

/** The curve of an ECParameters node: a named one, never numbers. */
export function readCurve(node: DerNode, what: string): LeafKeyType {
  if (node.tag === tags.sequence) throw unsupportedKey(what, 'an EC key with explicit curve parameters');
  const curve = readOid(node, what);
  const keyType = leafKeyTypes.find((row) => keyAlgorithms[row].curve?.oid === curve);
  if (keyType === undefined) throw unsupportedKey(what, `an EC key on the curve ${refusedCurves[curve] ?? curve}`);
  return keyType;
}

export const unsupportedKey = (what: string, found: string): X509Error =>
  new X509Error('unsupported_key', `${what} holds ${found}; ${ACCEPTED}.`);

function readRsaPublicKey(keyBits: Buffer, what: string): RsaNumbers {
  const elements = elementsOf(parseDer(keyBits, what), tags.sequence, what);
  const modulus = readInteger(elements.next('modulus'), what);
  const exponent = readInteger(elements.next('public exponent'), what);
  elements.end();
  if (modulus <= 0n || exponent <= 0n) throw malformed(what, 'holds an RSA number that is not positive');
  return { modulus, exponent };
}

function checkKeyBits({ family, bits }: KeyAlgorithm, keyBits: Buffer, what: string): void {
  if (family === 'ed25519') {
    if (keyBits.length !== 32) throw malformed(what, 'holds an Ed25519 key that is not 32 bytes long');
    return;
  }
  if (keyBits.length !== 1 + 2 * Math.ceil(bits / 8) || keyBits[0] !== 0x04) {
    throw malformed(what, `holds an EC point that is not an uncompressed point of a ${bits} bit curve`);
  }
}

function refusedAlgorithm(node: DerNode, what: string): X509Error {
  const elements = elementsOf(node, tags.sequence, what);
  const identifier = readOid(elements.next('algorithm identifier'), what);
  if (identifier === oids.ecPublicKey) readCurve(elements.next('curve'), what);
  if (acceptedAlgorithms.has(identifier)) return malformed(what, 'has other parameters than its key algorithm allows');
  return unsupportedKey(what, refusedAlgorithms[identifier] ?? `a key of the unknown algorithm ${identifier}`);
}
