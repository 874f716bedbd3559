import { createPublicKey } from 'node:crypto';
import { expect, test } from 'vitest';
import { jwsPayload, readJws, verifyJws } from '../../../src/acme/jws.ts';
import { anAcmeKey, signedJws } from '../../support/acme-client.ts';

test('a JWS is read with its header, and verified by its key alone', async () => {
  const [key, other] = [anAcmeKey(), anAcmeKey()];
  const sent = signedJws(key, { alg: 'ES256', kid: 'me', x: 1 }, { a: 1 });

  const jws = readJws(sent, 'the request');

  expect(jws).toEqual({ ...sent, header: { alg: 'ES256', kid: 'me', x: 1 } });
  expect(jwsPayload(jws)).toEqual({ a: 1 });
  expect(await verifyJws(jws, createPublicKey(key.publicPem))).toBe(true);
  expect(await verifyJws(jws, createPublicKey(other.publicPem))).toBe(false);
  expect(await verifyJws(jws, createPublicKey(anAcmeKey('EdDSA').publicPem))).toBe(false);
});

test('a refusal names the JWS that is meant', () => {
  const inner = signedJws(anAcmeKey(), { crit: [], alg: 'ES256' }, '');
  expect(() => readJws(inner, 'the binding')).toThrow(
    'The binding has "crit" in its protected header, which ACME does not know.',
  );
});

test('SEC-20: a MAC is never verified as a signature', async () => {
  const key = anAcmeKey('RS256');
  const jws = readJws({ ...signedJws(key, { alg: 'HS256' }, '') }, 'the request');
  expect(await verifyJws(jws, createPublicKey(key.publicPem))).toBe(false);
});
