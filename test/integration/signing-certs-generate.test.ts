// CA certs that are generated here, on a real database and real key files.
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { getSigningCert } from '../../src/core/signing-certs.ts';
import { type GivenCa, givenCa } from '../support/given.ts';
import { givenIntermediate, givenRoot } from '../support/given-signing-cert.ts';

let given: GivenCa;
beforeAll(async () => {
  given = await givenCa();
});
afterAll(() => given[Symbol.asyncDispose]());

test('a root and an intermediate below it', async () => {
  const root = await givenRoot(given.ca);
  const issuing = await givenIntermediate(given.ca, { parent: root });
  const [rootCertificate, certificate] = [root, issuing].map((view) => new X509Certificate(view.publicCert ?? ''));
  expect(certificate?.verify(rootCertificate?.publicKey ?? expect.fail())).toBe(true);
  expect(certificate?.checkIssued(rootCertificate ?? expect.fail())).toBe(true);
  expect(await getSigningCert(given.ca, root.id)).toMatchObject({ name: 'Corp Root', inUse: true });
});
