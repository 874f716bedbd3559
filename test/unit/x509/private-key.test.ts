// Private keys: made, written, read, and refused by name.
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { encodeDer, integer, octetString, oid, sequence } from '../../../src/x509/der-writer.ts';
import { oids } from '../../../src/x509/oids.ts';
import { toPem } from '../../../src/x509/pem.ts';
import { generatePrivateKey, pkcs8Of, readPkcs8, readPrivateKey } from '../../../src/x509/private-key.ts';
import { publicKeyPem, readPublicKey } from '../../../src/x509/public-key.ts';
import { keyTypeOf } from '../../../src/x509/spki.ts';
import { aKey } from './builders.ts';

const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey;
const pkcs8 = { type: 'pkcs8', format: 'pem' } as const;

test.each(['ec_256', 'ec_384', 'ec_521', 'rsa_2048', 'ed25519'] as const)(
  'a generated %s key reads back',
  async (keyType) => {
    const made = await generatePrivateKey(keyType);
    const read = await readPkcs8(pkcs8Of(made));
    expect(read.keyType).toBe(keyType);
    expect(read.spki).toEqual(made.spki);
    expect(keyTypeOf(made.key)).toBe(keyType);
  },
);

test('RSA keys are made one at a time, in the order they were asked for', async () => {
  const finished: number[] = [];
  await Promise.all([0, 1, 2, 3, 4].map((turn) => generatePrivateKey('rsa_2048').then(() => finished.push(turn))));
  expect(finished).toEqual([0, 1, 2, 3, 4]);
});

test('reads PKCS#1 and SEC1, with the curve block of openssl too', async () => {
  const rsa = (await aKey('rsa_2048')).key.export({ type: 'pkcs1', format: 'pem' });
  expect((await readPrivateKey(String(rsa))).keyType).toBe('rsa_2048');
  const sec1 = String((await aKey('ec_384')).key.export({ type: 'sec1', format: 'pem' }));
  expect((await readPrivateKey(sec1)).keyType).toBe('ec_384');
  const curve = toPem('EC PARAMETERS', Buffer.from('06052b81040022', 'hex'));
  expect((await readPrivateKey(curve + sec1)).keyType).toBe('ec_384');
});

const keyOf = (algorithm: string) =>
  toPem('PRIVATE KEY', encodeDer(sequence(integer(0), sequence(oid(algorithm)), octetString(Buffer.alloc(8)))));
const rsaKey = (modulus: bigint, exponent = 65_537n) => {
  const numbers = [modulus, exponent, 3n, 5n, 7n, 1n, 1n, 1n];
  return toPem('RSA PRIVATE KEY', encodeDer(sequence(integer(0), ...numbers.map((number) => integer(number)))));
};
const encryption = { cipher: 'aes-256-cbc', passphrase: 'secret' };

const refused: readonly (readonly [what: string, make: () => unknown, code: string, words: string])[] = [
  ['encrypted PKCS#8', () => ec('prime256v1').export({ ...pkcs8, ...encryption }), 'encrypted_key', 'openssl pkey -in'],
  [
    'encrypted SEC1',
    () => ec('prime256v1').export({ type: 'sec1', format: 'pem', ...encryption }),
    'encrypted_key',
    'openssl pkey -in',
  ],
  ['secp256k1', () => ec('secp256k1').export(pkcs8), 'unsupported_key', 'secp256k1'],
  ['secp256k1 in SEC1', () => ec('secp256k1').export({ type: 'sec1', format: 'pem' }), 'unsupported_key', 'secp256k1'],
  ['P-224', () => ec('secp224r1').export(pkcs8), 'unsupported_key', 'P-224'],
  ['brainpool', () => ec('brainpoolP256r1').export(pkcs8), 'unsupported_key', 'brainpoolP256r1'],
  ['X25519', () => generateKeyPairSync('x25519').privateKey.export(pkcs8), 'unsupported_key', 'X25519'],
  ['Ed448', () => generateKeyPairSync('ed448').privateKey.export(pkcs8), 'unsupported_key', 'Ed448'],
  ['RSA-1024', () => rsaKey(1n << 1023n), 'unsupported_key', '1024 bits'],
  ['RSA-2056', () => rsaKey(1n << 2055n), 'unsupported_key', '2056 bits'],
  ['RSA with e = 3', () => rsaKey(1n << 2047n, 3n), 'unsupported_key', '65537'],
  ['RSA with primes that do not make the modulus', () => rsaKey(1n << 2047n), 'malformed', 'its primes'],
  ['RSA-PSS', () => keyOf(oids.rsassaPss), 'unsupported_key', 'RSASSA-PSS'],
  ['DSA', () => keyOf('1.2.840.10040.4.1'), 'unsupported_key', 'DSA'],
  ['an unknown algorithm', () => keyOf('1.2.3.4'), 'unsupported_key', '1.2.3.4'],
  [
    'explicit curve parameters',
    () => generateKeyPairSync('ec', { namedCurve: 'prime256v1', paramEncoding: 'explicit' }).privateKey.export(pkcs8),
    'unsupported_key',
    'explicit',
  ],
  [
    'explicit curve parameters in SEC1',
    () =>
      generateKeyPairSync('ec', { namedCurve: 'prime256v1', paramEncoding: 'explicit' }).privateKey.export({
        type: 'sec1',
        format: 'pem',
      }),
    'unsupported_key',
    'explicit',
  ],
  ['a DSA PEM block', () => toPem('DSA PRIVATE KEY', Buffer.of(5, 0)), 'wrong_pem', 'DSA keys are not accepted'],
  ['an OpenSSH key', () => toPem('OPENSSH PRIVATE KEY', Buffer.of(5, 0)), 'wrong_pem', 'ssh-keygen'],
  ['a certificate', () => toPem('CERTIFICATE', Buffer.of(5, 0)), 'wrong_pem', 'It is a certificate'],
  ['two keys', () => String(ec('prime256v1').export(pkcs8)).repeat(2), 'wrong_pem', 'found 2'],
  ['no PEM', () => 'password', 'wrong_pem', 'no PEM block'],
  ['bytes that are no key', () => toPem('PRIVATE KEY', Buffer.from('3003020101', 'hex')), 'malformed', 'ends before'],
];

test.each(refused)('refuses %s by name', async (_, make, code, words) => {
  const error = await readPrivateKey(String(make())).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ name: 'X509Error', code });
  expect(String(error)).toContain(words);
});

test('refuses a key whose public half belongs to another key', async () => {
  const [one, other] = [await generatePrivateKey('ec_256'), await generatePrivateKey('ec_256')];
  const der = pkcs8Of(one);
  const point = der.indexOf(one.spki.subarray(-65));
  other.spki.subarray(-65).copy(der, point);
  expect(() => createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })).not.toThrow();
  await expect(readPkcs8(der)).rejects.toMatchObject({ code: 'malformed' });
});

test('no message holds key bytes', async () => {
  const pem = String((await aKey('rsa_2048')).key.export(pkcs8));
  const lines = pem.split('\n').slice(1, -2);
  const damaged = [pem.replace(lines[3] ?? '', ''), pem.replaceAll('\n', ''), pem.replace('M', '*'), pem.slice(0, 400)];
  for (const text of damaged) {
    const error = await readPrivateKey(text).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'X509Error' });
    const shown = JSON.stringify(error) + String(error) + String(error instanceof Error ? error.stack : '');
    for (const line of lines) expect(shown).not.toContain(line.slice(0, 16));
    expect(error).not.toHaveProperty('cause');
  }
});

test('public keys are read from their one form and others are explained', async () => {
  const { spki, key } = await aKey('ec_256');
  expect(readPublicKey(publicKeyPem(spki))).toMatchObject({ keyType: 'ec_256', spki });
  expect(() => readPublicKey(String(key.export(pkcs8)))).toThrow('openssl pkey');
  expect(() => readPublicKey(toPem('CERTIFICATE', spki))).toThrow('openssl x509');
  expect(() => readPublicKey(toPem('RSA PUBLIC KEY', spki))).toThrow('openssl rsa');
});
