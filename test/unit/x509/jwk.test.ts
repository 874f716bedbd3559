// Keys as JSON Web Keys, against the vectors of the RFCs and against what OpenSSL says about the same key.
import { createPublicKey } from 'node:crypto';
import { expect, test } from 'vitest';
import { leafKeyTypes } from '../../../src/x509/algorithms.ts';
import { jwkOf, keyOfJwk, thumbprintOf } from '../../../src/x509/jwk.ts';
import { aKey } from './builders.ts';

// RFC 7638 section 3.1, RFC 8037 appendix A.2 and A.3.
const rsaExample = {
  kty: 'RSA',
  n: '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw',
  e: 'AQAB',
};
const ed25519Example = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };

const spkiOf = (jwk: Readonly<Record<string, string>>): Buffer =>
  createPublicKey({ key: { ...jwk }, format: 'jwk' }).export({ type: 'spki', format: 'der' });
const thumbprint = (spki: Buffer): string => thumbprintOf(jwkOf(spki, 'the key')).toString('base64url');

test.each([
  ['RFC 7638', rsaExample, 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'],
  ['RFC 8037', ed25519Example, 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k'],
])('the thumbprint of the example in %s', (_rfc, jwk, expected) => {
  expect(thumbprint(spkiOf(jwk))).toBe(expected);
});

test('JWS-18: leading zero octets in an RSA key do not give it another thumbprint', () => {
  const padded = (value: string) => Buffer.concat([Buffer.alloc(2), Buffer.from(value, 'base64url')]);
  const { kty, n, e } = rsaExample;
  const jwk = { kty, n: padded(n).toString('base64url'), e: padded(e).toString('base64url') };
  expect(thumbprint(spkiOf(jwk))).toBe('NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs');
});

test.each(leafKeyTypes.filter((keyType) => keyType !== 'rsa_4096'))('OpenSSL says the same of %s', async (keyType) => {
  const { spki } = await aKey(keyType);
  const jwk = jwkOf(spki, 'the key');
  expect(jwk).toEqual(createPublicKey({ key: spki, format: 'der', type: 'spki' }).export({ format: 'jwk' }));
  expect(Object.keys(jwk)).toEqual(Object.keys(jwk).sort());
});

test('a coordinate that begins with a zero octet keeps it', async () => {
  const x = Buffer.from('00c0a5e1f0b3b7d2', 'hex');
  const point = Buffer.concat([Buffer.of(4), x, Buffer.alloc(56, 7)]);
  const { spki } = await aKey('ec_256');
  const jwk = jwkOf(Buffer.concat([spki.subarray(0, -65), point]), 'the key');
  expect(jwk.x).toBe(point.subarray(1, 33).toString('base64url'));
  expect(jwk.x).toHaveLength(43);
});

test.each(leafKeyTypes)('a JWK of %s becomes the SPKI that it came from', async (keyType) => {
  const { spki } = await aKey(keyType);
  const jwk = jwkOf(spki, 'the key');
  const key = keyOfJwk({ ...jwk, alg: 'ES256' }, 'the key');
  expect(key).toMatchObject({ spki, jwk });
  expect(JSON.stringify(key.jwk)).toBe(JSON.stringify(jwk));
  expect(key.key.export({ type: 'spki', format: 'der' })).toEqual(spki);
});

test('JWS-14: a JWK is refused by the name of what is wrong with it', async () => {
  const jwk = jwkOf((await aKey('ec_256')).spki, 'the key');
  expect(() => keyOfJwk({ ...jwk, d: 'AAAA' }, 'the key')).toThrow(/^The key holds a private key/);
  expect(() => keyOfJwk({ ...jwk, crv: 'secp256k1' }, 'the key')).toThrow(/kty EC and crv secp256k1; accepted are/);
  expect(() => keyOfJwk({ ...jwk, x: 'AAAA' }, 'the key')).toThrow(/no "x" that is base64url of the right length/);
  expect(() => keyOfJwk({ ...jwk, y: jwk.x }, 'the key')).toThrow(/its numbers do not fit its type/);
  expect(() => keyOfJwk([], 'the key')).toThrow('The key is not a JSON object');
});
