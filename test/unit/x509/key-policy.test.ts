// Which public keys are refused, and as what.
import { generateKeyPairSync, generatePrimeSync, type KeyObject } from 'node:crypto';
import { expect, test } from 'vitest';
import { bitString, encodeDer, integer, nullValue, oid, sequence } from '../../../src/x509/der-writer.ts';
import { checkPublicKey } from '../../../src/x509/key-policy.ts';
import { oids } from '../../../src/x509/oids.ts';
import { keyIdentifierOf, keyTypeOf } from '../../../src/x509/spki.ts';
import { aKey, refusalOf, rsaSpki } from './builders.ts';

const check = (spki: Buffer) => refusalOf(() => checkPublicKey(spki, 'the key'));
const spkiOf = (key: KeyObject) => key.export({ type: 'spki', format: 'der' });
const prime = (bits: number) => generatePrimeSync(bits, { bigint: true });
const smallPrimes = [
  2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101,
]
  .concat([103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167])
  .map(BigInt);

const hasSmallFactor = (value: bigint) => {
  for (let factor = 2n; factor < 752n; factor += 1n) if (value % factor === 0n) return true;
  return false;
};

/** A number of 2048 bits without the small factors that would be found first. */
function rsaLike(make: (attempt: bigint) => bigint): bigint {
  for (let attempt = 1n; ; attempt += 1n) {
    const candidate = make(attempt);
    if (candidate.toString(2).length === 2048 && !hasSmallFactor(candidate)) return candidate;
  }
}

test.each(['ec_256', 'ec_384', 'ec_521', 'rsa_2048', 'ed25519'] as const)('accepts %s', async (keyType) => {
  const { spki } = await aKey(keyType);
  expect(checkPublicKey(spki, 'the key')).toMatchObject({ keyType, spki });
  expect(keyTypeOf(spki)).toBe(keyType);
});

test('refuses RSA numbers outside of the policy', async () => {
  const modulus = prime(1024) * prime(1024);
  expect(await check(rsaSpki(rsaLike(() => prime(1024) * prime(1024))))).toBe('accepted');
  for (const exponent of [0n, 1n, 3n, 65_536n, 65_539n])
    expect(await check(rsaSpki(modulus, exponent))).not.toBe('accepted');
  for (const size of [512n, 2047n, 2049n, 8192n])
    expect(await check(rsaSpki((1n << size) - 1n))).toBe('unsupported_key');
  expect(await check(rsaSpki(0n))).toBe('malformed');
});

test('refuses moduli with a factor below 752', async () => {
  for (const factor of [2n, 3n, 701n, 751n]) {
    let cofactor = (1n << 2047n) / factor + 1n;
    while (hasSmallFactor(cofactor)) cofactor += 1n;
    await expect(async () => checkPublicKey(rsaSpki(factor * cofactor), 'the key')).rejects.toThrow('small factor');
  }
});

test('refuses moduli with the fingerprint of ROCA', async () => {
  const product = smallPrimes.reduce((all, factor) => all * factor, 1n);
  const powers = (count: bigint) =>
    Array.from({ length: Number(count) }).reduce<bigint>((power) => (power * 65_537n) % product, 1n);
  const weak = rsaLike((attempt) => powers(1_234n) + product * ((1n << 2047n) / product + attempt));
  expect(() => checkPublicKey(rsaSpki(weak), 'the key')).toThrow('ROCA');
});

test('refuses moduli whose factors are close, up to a hundred steps of Fermat and more', async () => {
  const first = prime(1024) | (3n << 1022n);
  const near = rsaLike((attempt) => first * (first + 2n * attempt));
  expect(() => checkPublicKey(rsaSpki(near), 'the key')).toThrow('too close');
  const square = rsaLike((attempt) => (first + 2n * attempt) ** 2n);
  expect(() => checkPublicKey(rsaSpki(square), 'the key')).toThrow('too close');
  // n = a^2 - b^2 with a about 96 above the root of n.
  const root = 3n << 1022n;
  const b = 24n * (1n << 511n) + 1n;
  const late = rsaLike((attempt) => (root + 2n * attempt) ** 2n - b ** 2n);
  expect(() => checkPublicKey(rsaSpki(late), 'the key')).toThrow('too close');
});

test('refuses points off their curve, at infinity, compressed, of another curve and of the wrong length', async () => {
  const { spki } = await aKey('ec_256');
  const ecSpki = (point: Buffer, curve: string = oids.p256) =>
    encodeDer(sequence(sequence(oid(oids.ecPublicKey), oid(curve)), bitString(point)));
  const point = Buffer.from(spki.subarray(-65));
  expect(await check(ecSpki(point))).toBe('accepted');
  const off = Buffer.from(point);
  off.writeUInt8(off.readUInt8(64) ^ 1, 64);
  expect(await check(ecSpki(off))).toBe('malformed');
  expect(await check(ecSpki(Buffer.of(0)))).toBe('malformed');
  expect(await check(ecSpki(Buffer.concat([Buffer.of(4), Buffer.alloc(64)])))).toBe('malformed');
  expect(await check(ecSpki(Buffer.concat([Buffer.of(4), Buffer.alloc(64, 0xff)])))).toBe('malformed');
  expect(await check(ecSpki(Buffer.concat([Buffer.of(2 + (point.readUInt8(64) & 1)), point.subarray(1, 33)])))).toBe(
    'malformed',
  );
  expect(await check(ecSpki(Buffer.concat([Buffer.of(6 + (point.readUInt8(64) & 1)), point.subarray(1)])))).toBe(
    'malformed',
  );
  expect(await check(ecSpki(point, oids.p384))).toBe('malformed');
  expect(await check(ecSpki(point.subarray(0, 64)))).toBe('malformed');
});

test.each([
  ['P-224', () => generateKeyPairSync('ec', { namedCurve: 'secp224r1' })],
  ['secp256k1', () => generateKeyPairSync('ec', { namedCurve: 'secp256k1' })],
  ['explicit', () => generateKeyPairSync('ec', { namedCurve: 'prime256v1', paramEncoding: 'explicit' })],
  ['X25519', () => generateKeyPairSync('x25519')],
  ['Ed448', () => generateKeyPairSync('ed448')],
  ['RSASSA-PSS', () => generateKeyPairSync('rsa-pss', { modulusLength: 1024 })],
] as const)('refuses %s by name', (name, generate) => {
  const spki = spkiOf(generate().publicKey);
  expect(() => checkPublicKey(spki, 'the key')).toThrow(expect.objectContaining({ code: 'unsupported_key' }));
  expect(() => checkPublicKey(spki, 'the key')).toThrow(name);
  expect(keyTypeOf(spki)).toBeUndefined();
});

test('refuses parameters that do not belong to the algorithm', async () => {
  const rsa = encodeDer(sequence(integer((1n << 2047n) + 1n), integer(65_537)));
  expect(await check(encodeDer(sequence(sequence(oid(oids.rsaEncryption)), bitString(rsa))))).toBe('malformed');
  const ed25519 = sequence(sequence(oid(oids.ed25519), nullValue()), bitString(Buffer.alloc(32, 9)));
  expect(await check(encodeDer(ed25519))).toBe('malformed');
  expect(await check(encodeDer(sequence(sequence(oid(oids.ecPublicKey)), bitString(Buffer.alloc(65, 4)))))).toBe(
    'malformed',
  );
  expect(await check(encodeDer(sequence(sequence(oid(oids.ed25519)), bitString(Buffer.alloc(31, 9)))))).toBe(
    'malformed',
  );
});

test('RFC 7093 section 2 method 1: the key identifier is the left 160 bits of the SHA-256 of the key bits', () => {
  const spki = encodeDer(sequence(sequence(oid(oids.ed25519)), bitString(Buffer.alloc(32, 0))));
  // SHA-256 of 32 zero octets.
  expect(keyIdentifierOf(spki).toString('hex')).toBe('66687aadf862bd776c8fc18b8e9f8e2008971485');
});
