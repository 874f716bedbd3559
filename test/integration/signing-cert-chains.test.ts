// The chain above a leaf: one statement from the CA cert that signed it up to the root, deleted CA certs included.
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chainOf } from '../../src/core/chains.ts';
import { createSigningCert } from '../../src/core/create-signing-cert.ts';
import type { SigningCertView } from '../../src/core/signing-certs.ts';
import { readCertificatePem } from '../../src/x509/certificate-pem.ts';
import { foreignCa } from '../support/foreign-ca.ts';
import { admin, type GivenCa, givenCa } from '../support/given.ts';
import { givenIntermediate, givenRoot, givenSigningCert } from '../support/given-signing-cert.ts';

let given: GivenCa;
beforeAll(async () => {
  given = await givenCa();
});
afterAll(() => given[Symbol.asyncDispose]());

const derOf = ({ publicCert }: SigningCertView) => readCertificatePem(publicCert ?? expect.fail('no certificate')).der;
const pemOf = ({ publicCert }: SigningCertView) => publicCert ?? expect.fail('no certificate');
const chain = (id: string) => chainOf(given.ca.database.db, id);
/** As it should be: the intermediates in DER and PEM, the root in PEM. */
const chainOfCerts = (intermediates: readonly SigningCertView[], root?: SigningCertView) => ({
  intermediates: intermediates.map(derOf),
  intermediatePems: intermediates.map(pemOf),
  rootPem: root && pemOf(root),
});

test('issuer first, the root apart', async () => {
  const root = await givenRoot(given.ca);
  const policy = await givenIntermediate(given.ca, { parent: root, path_length: 1 });
  const issuing = await givenIntermediate(given.ca, { parent: policy });
  expect(await chain(issuing.id)).toEqual(chainOfCerts([issuing, policy], root));
  expect(await chain(policy.id)).toEqual(chainOfCerts([policy], root));
  expect(await chain(root.id)).toEqual(chainOfCerts([], root));
});

test('stays when its CA certs are deleted', async () => {
  const root = await givenRoot(given.ca);
  const issuing = await givenIntermediate(given.ca, { parent: root });
  const before = await chain(issuing.id);
  await sql`update signing_certs set deleted_at = now()`.execute(given.ca.database.db);
  expect(await chain(issuing.id)).toEqual(before);
});

test('has no root where the parent is elsewhere, and nothing where there is no certificate', async () => {
  const elsewhere = await foreignCa({ subject: { CN: 'Elsewhere' } });
  const { publicCert, privateKey } = await foreignCa({ parent: elsewhere });
  const issuing = await createSigningCert(given.ca, admin, {
    cert_type: 'intermediate',
    key_availability: 'online',
    public_cert: publicCert,
    private_key: privateKey,
  });
  expect(await chain(issuing.id)).toEqual(chainOfCerts([issuing]));
  const waiting = await givenSigningCert(given.ca, { cert_type: 'intermediate', name: 'Waiting' });
  expect(await chain(waiting.id)).toEqual(chainOfCerts([]));
  expect(await chain('019e35ce-b600-7409-a6a8-f872f1ab4432')).toEqual(chainOfCerts([]));
});
