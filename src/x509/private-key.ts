// Private keys: made here in the thread pool, or read from the PEM forms that people have.
import { createPrivateKey, generateKeyPair, type KeyObject, randomBytes, sign, verify } from 'node:crypto';
import { promisify } from 'node:util';
import { keyAlgorithms, type LeafKeyType } from './algorithms.ts';
import {
  contextConstructed,
  elementsOf,
  onlyChildOf,
  parseDer,
  readInteger,
  readOctets,
  readSmallInteger,
  tags,
} from './der.ts';
import { checkPublicKey } from './key-policy.ts';
import { type PemBlock, readOnlyPem, readPemBlocks } from './pem.ts';
import { readCurve, readKeyAlgorithm, rsaKeyType, spkiOf } from './spki.ts';
import { malformed, X509Error } from './x509-error.ts';

export type PrivateKey = {
  readonly keyType: LeafKeyType;
  readonly key: KeyObject;
  /** DER SubjectPublicKeyInfo of the public half. */
  readonly spki: Buffer;
};

const WHAT = 'the private key';
type Form = 'pkcs8' | 'pkcs1' | 'sec1';
const forms: ReadonlyMap<string, Form> = new Map([
  ['PRIVATE KEY', 'pkcs8'],
  ['RSA PRIVATE KEY', 'pkcs1'],
  ['EC PRIVATE KEY', 'sec1'],
]);
const HINTS: Readonly<Record<string, string>> = {
  CERTIFICATE: 'It is a certificate; give the private key that belongs to it.',
  'CERTIFICATE REQUEST': 'It is a certificate signing request; give the private key that it was made with.',
  'PUBLIC KEY': 'It is a public key; give the private key that belongs to it.',
  'DSA PRIVATE KEY': 'DSA keys are not accepted; make an EC or RSA key.',
  'OPENSSH PRIVATE KEY': 'Convert a copy of it with: ssh-keygen -p -N "" -m PKCS8 -f KEY',
};

/** RSA keys are made one at a time: the search keeps a thread of the pool busy for up to a second. */
export function generatePrivateKey(keyType: LeafKeyType): Promise<PrivateKey> {
  if (keyAlgorithms[keyType].family !== 'rsa') return generate(keyType);
  const generated = lastRsaKey.then(() => generate(keyType));
  lastRsaKey = generated.catch(() => undefined);
  return generated;
}

/** Reads PKCS#8, PKCS#1 or SEC1 PEM. Throws X509Error; its message never holds key bytes. */
export async function readPrivateKey(pem: string): Promise<PrivateKey> {
  const { label, der } = keyBlockOf(pem);
  return readKey(der, forms.get(label) ?? 'pkcs8');
}

/** Reads the DER that `pkcs8Of` writes. */
export const readPkcs8 = (der: Buffer): Promise<PrivateKey> => readKey(der, 'pkcs8');

export const pkcs8Of = ({ key }: PrivateKey): Buffer => key.export({ type: 'pkcs8', format: 'der' });

const generateAsync = promisify(generateKeyPair);
const signAsync = promisify(sign);
const verifyAsync = promisify(verify);

let lastRsaKey: Promise<unknown> = Promise.resolve();

async function generate(keyType: LeafKeyType): Promise<PrivateKey> {
  const { publicKey, privateKey } = await generateFor(keyType);
  return { keyType, key: privateKey, spki: spkiOf(publicKey) };
}

function generateFor(keyType: LeafKeyType): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> {
  const { curve, family, bits } = keyAlgorithms[keyType];
  if (curve !== undefined) return generateAsync('ec', { namedCurve: curve.name });
  return family === 'rsa' ? generateAsync('rsa', { modulusLength: bits }) : generateAsync('ed25519');
}

function keyBlockOf(pem: string): PemBlock {
  const blocks = readPemBlocks(pem, WHAT);
  const isEncrypted = ({ label, headers }: PemBlock) =>
    label === 'ENCRYPTED PRIVATE KEY' || headers.some((header) => header.includes('ENCRYPTED'));
  if (blocks.some(isEncrypted)) throw encrypted();
  // `openssl ecparam -genkey` writes the curve's name as a block before the key, which names it again.
  const [first, second, ...others] = blocks;
  if (first?.label === 'EC PARAMETERS' && second?.label === 'EC PRIVATE KEY' && others.length === 0) return second;
  return readOnlyPem(pem, WHAT, [...forms.keys()], HINTS);
}

async function readKey(der: Buffer, form: Form): Promise<PrivateKey> {
  const expected = keyKinds[form](der);
  const key = importPrivateKey(der, form);
  const spki = spkiOf(key);
  const { keyType, key: publicKey } = checkPublicKey(spki, WHAT);
  if (keyType !== expected || !(await isPair(key, publicKey))) {
    throw malformed(WHAT, 'contradicts itself: its public half does not belong to its private half');
  }
  return { keyType, key, spki };
}

/** What each form claims to hold, read without OpenSSL: it would take explicit curves and name them after known ones. */
const keyKinds: Readonly<Record<Form, (der: Buffer) => LeafKeyType>> = {
  pkcs8: readPkcs8Kind,
  pkcs1: readPkcs1Kind,
  sec1: (der) => readSec1Kind(der, undefined),
};

/** RFC 5958 section 2. */
function readPkcs8Kind(der: Buffer): LeafKeyType {
  const elements = elementsOf(parseDer(der, WHAT), tags.sequence, WHAT);
  readSmallInteger(elements.next('version'), `the version of the private key`, 1);
  const kind = readKeyAlgorithm(elements.next('algorithm'), WHAT);
  const inner = readOctets(elements.next('key'), WHAT);
  elements.nextIf(contextConstructed(0));
  elements.nextIf(0x81);
  elements.end();
  if (kind === 'rsa') return readPkcs1Kind(inner);
  if (kind !== 'ed25519') return readSec1Kind(inner, kind);
  if (readOctets(parseDer(inner, WHAT), WHAT).length !== 32) throw malformed(WHAT, 'is not a 32 byte Ed25519 key');
  return kind;
}

/** RFC 8017 appendix A.1.2; version 1 would have more than two primes. */
function readPkcs1Kind(der: Buffer): LeafKeyType {
  const elements = elementsOf(parseDer(der, WHAT), tags.sequence, WHAT);
  readSmallInteger(elements.next('version'), 'the version of the RSA private key', 0);
  const modulus = readInteger(elements.next('modulus'), WHAT);
  const exponent = readInteger(elements.next('public exponent'), WHAT);
  const secrets = ['exponent', 'prime', 'prime', 'exponent', 'exponent', 'coefficient'].map((name) =>
    readInteger(elements.next(name), WHAT),
  );
  elements.end();
  if ([modulus, exponent, ...secrets].some((value) => value <= 0n))
    throw malformed(WHAT, 'holds a number that is not positive');
  const keyType = rsaKeyType({ modulus, exponent }, WHAT);
  const [, first = 0n, second = 0n] = secrets;
  if (first * second !== modulus) throw malformed(WHAT, 'contradicts itself: its primes do not make its modulus');
  return keyType;
}

/** RFC 5915 section 3. Inside PKCS#8 the curve is known already and its repetition may be left out. */
function readSec1Kind(der: Buffer, outer: LeafKeyType | undefined): LeafKeyType {
  const elements = elementsOf(parseDer(der, WHAT), tags.sequence, WHAT);
  const version = readSmallInteger(elements.next('version'), 'the version of the EC private key', 1);
  readOctets(elements.next('key'), WHAT);
  const parameters = elements.nextIf(contextConstructed(0));
  elements.nextIf(contextConstructed(1));
  elements.end();
  const named =
    parameters === undefined ? outer : readCurve(onlyChildOf(parameters, contextConstructed(0), WHAT), WHAT);
  if (version !== 1 || named === undefined || (outer !== undefined && named !== outer)) {
    throw malformed(WHAT, 'does not name its curve, or names two');
  }
  return named;
}

function importPrivateKey(der: Buffer, form: Form): KeyObject {
  try {
    return createPrivateKey({ key: der, format: 'der', type: form });
  } catch {
    // OpenSSL's own words say nothing that helps.
    throw malformed(WHAT, 'is damaged: its numbers do not fit together');
  }
}

async function isPair(privateKey: KeyObject, publicKey: KeyObject): Promise<boolean> {
  const message = randomBytes(32);
  const hash = privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  try {
    return await verifyAsync(hash, message, publicKey, await signAsync(hash, message, privateKey));
  } catch {
    return false;
  }
}

const encrypted = (): X509Error =>
  new X509Error(
    'encrypted_key',
    'the private key is encrypted. Decrypt it first, for example with: openssl pkey -in KEY.pem -out PLAIN.pem',
  );
