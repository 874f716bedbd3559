// Thumbprints against the vectors of the standards.
import { createPublicKey } from 'node:crypto';
import { expect, test } from 'vitest';
import { thumbprintOf } from '../../../src/x509/thumbprint.ts';
import { aKey } from './builders.ts';

const rfc7638 = {
  kty: 'RSA',
  n: '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw',
  e: 'AQAB',
};
const rfc7517 = {
  kty: 'EC',
  crv: 'P-256',
  x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
  y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
};
const rfc8037 = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };

test.each([
  ['RFC 7638 section 3.1', rfc7638, 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'],
  ['the EC key of RFC 7517 appendix A.1', rfc7517, 'cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s'],
  ['RFC 8037 appendix A.3', rfc8037, 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k'],
])('%s', (_, jwk, thumbprint) => {
  expect(thumbprintOf(createPublicKey({ key: jwk, format: 'jwk' })).toString('base64url')).toBe(thumbprint);
});

test('every key has its own', async () => {
  const [one, other] = [await aKey('ec_256'), await aKey('ec_384')].map(({ key }) =>
    thumbprintOf(createPublicKey(key)),
  );
  expect(one).toHaveLength(32);
  expect(one).not.toEqual(other);
});
