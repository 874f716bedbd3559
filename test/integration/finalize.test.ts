// Finalize in the core: one certificate for each order, refusals that leave it as it was, and who else may not have its key.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Applicant } from '../../src/core/applicant.ts';
import { formatId } from '../../src/core/ids.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { encodeDer, implicit, implicitSequence, oid, sequence } from '../../src/x509/der-writer.ts';
import { basicConstraints, extendedKeyUsage, keyUsage, mustStaple } from '../../src/x509/extensions.ts';
import { oids } from '../../src/x509/oids.ts';
import { type GivenCa, givenCa } from '../support/given.ts';
import { givenApplicant } from '../support/given-applicant.ts';
import {
  aRequest,
  certificateOf,
  certificatesOf,
  dns,
  finalize,
  givenReadyOrder,
  ip,
  permissive,
} from '../support/given-ready-order.ts';

let given: GivenCa;
let applicant: Applicant;
beforeEach(async () => {
  given = await givenCa();
  applicant = await givenApplicant(given.ca, permissive);
});
afterEach(() => given[Symbol.asyncDispose]());

const rowOf = (id: string) =>
  given.ca.database.db.selectFrom('orders').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const stateOf = async (id: string) => (await rowOf(id)).state;
const problemOf = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => expect.fail('it was not refused'),
    (thrown: unknown) => thrown,
  );
  return error as { type: string; status: number; message: string };
};

test('AUTO-5: what is issued and what is refused is told to the log, and the audit names the account and the certificate', async () => {
  const order = await givenReadyOrder(given.ca, applicant);
  await problemOf(finalize(given.ca, applicant, order, await aRequest({ names: [dns('b.example')] })));
  const { issuedCertId } = await finalize(given.ca, applicant, order, await aRequest());
  const lines = given.logLines.map((line) => JSON.parse(line));
  expect(lines).toContainEqual(expect.objectContaining({ message: 'finalize refused', reason: 'badCSR' }));
  expect(lines).toContainEqual(
    expect.objectContaining({
      message: 'certificate issued',
      profile: 'server',
      keyType: 'ec_256',
      requestId: 'request-1',
    }),
  );
  const records = await given.ca.database.db.selectFrom('audit').selectAll().where('action', '=', 'issue').execute();
  expect(records).toMatchObject([
    {
      actor_kind: 'acme_key',
      actor: formatId('acmk', applicant.account.id),
      object_kind: 'issued_cert',
      object_id: issuedCertId,
      request_id: 'request-1',
      detail: {
        after: {
          subjects: ['shop.corp.example'],
          profile: 'server',
          approval: 'auto-approved by account policy',
        },
      },
    },
  ]);
});

describe('a ready order', () => {
  test('FIN-10: becomes valid with a certificate', async () => {
    const order = await givenReadyOrder(given.ca, applicant);
    const done = await finalize(given.ca, applicant, order, await aRequest());
    expect(done).toMatchObject({ state: 'valid', issuedCertId: expect.any(String), id: order.id });
    const [cert] = await certificatesOf(given.ca, order.id);
    expect(cert).toMatchObject({ id: done.issuedCertId, subjects: ['shop.corp.example'], state: 'valid' });
    expect(await rowOf(order.id)).toMatchObject({ state: 'valid', tbs: null, due_at: null });
    expect(parseCertificate(cert?.der ?? Buffer.alloc(0)).extensions.subjectAltNames).toEqual([
      dns('shop.corp.example'),
    ]);
  });

  test('FIN-1: the same CSR again changes nothing, another one is refused', async () => {
    const order = await givenReadyOrder(given.ca, applicant);
    const csr = await aRequest();
    const done = await finalize(given.ca, applicant, order, csr);
    expect(await finalize(given.ca, applicant, order, csr)).toEqual(done);
    expect(await problemOf(finalize(given.ca, applicant, order, await aRequest()))).toMatchObject({
      type: 'orderNotReady',
      status: 403,
    });
    expect(await certificatesOf(given.ca, order.id)).toHaveLength(1);
  });

  test('FIN-11: fifty finalizes at once give one certificate', async () => {
    const order = await givenReadyOrder(given.ca, applicant);
    const csr = await aRequest();
    const replies = await Promise.all(Array.from({ length: 50 }, () => finalize(given.ca, applicant, order, csr)));
    expect(replies.every(({ state }) => state === 'valid' || state === 'processing')).toBe(true);
    expect(replies.filter(({ state }) => state === 'valid')).not.toEqual([]);
    expect(await certificatesOf(given.ca, order.id)).toHaveLength(1);
    expect(await stateOf(order.id)).toBe('valid');
  });

  test('FIN-4: a bad CSR leaves it ready, and a corrected one succeeds', async () => {
    const order = await givenReadyOrder(given.ca, applicant);
    const bad = await aRequest({ names: [dns('shop.corp.example'), dns('other.corp.example')] });
    expect(await problemOf(finalize(given.ca, applicant, order, bad))).toMatchObject({ type: 'badCSR', status: 400 });
    expect(await stateOf(order.id)).toBe('ready');
    expect((await finalize(given.ca, applicant, order, await aRequest())).state).toBe('valid');
  });
});

test.each([
  ['FIN-2: a name more', { names: [dns('shop.corp.example'), dns('b.example')] }, /dns "b\.example"/],
  ['FIN-2: no name', { names: [] }, /order names dns shop/],
  ['FIN-2: a CN that is not ordered', { subject: { CN: 'other.example' } }, /dns "other\.example"/],
  ['SEC-6: an extra address', { names: [dns('shop.corp.example'), ip('10.0.0.1')] }, /ip "10\.0\.0\.1"/],
  ['SEC-36, FIN-3: an address in the CN', { subject: { CN: '10.0.0.1' } }, /ip "10\.0\.0\.1"/],
  ['FIN-8: CA:TRUE', { extensions: [basicConstraints({ ca: true })] }, /CA certificate/],
  [
    'FIN-8: an unknown critical extension',
    { extensions: [{ oid: '1.2.3.4', critical: true, value: Buffer.of(5, 0) }] },
    /1\.2\.3\.4/,
  ],
] as const)('refuses %s with badCSR', async (_, request, message) => {
  const order = await givenReadyOrder(given.ca, applicant);
  const problem = await problemOf(finalize(given.ca, applicant, order, await aRequest(request)));
  expect(problem).toMatchObject({ type: 'badCSR', message: expect.stringMatching(message) });
  expect(await stateOf(order.id)).toBe('ready');
});

test('FIN-8: refuses a name of any other kind with badCSR', async () => {
  const order = await givenReadyOrder(given.ca, applicant);
  for (const [kind, other] of [
    ['email', implicit(1, Buffer.from('a@corp.example'))],
    ['uri', implicit(6, Buffer.from('spiffe://corp.example'))],
    ['otherName', implicitSequence(0, oid('1.3.6.1.4.1.311.20.2.3'))],
  ] as const) {
    const value = encodeDer(sequence(implicit(2, Buffer.from('shop.corp.example')), other));
    const extensions = [{ oid: oids.subjectAltName, critical: false, value }];
    const problem = await problemOf(finalize(given.ca, applicant, order, await aRequest({ extensions, names: [] })));
    expect(problem).toMatchObject({ type: 'badCSR', message: expect.stringContaining(`kind ${kind}`) });
  }
  expect(await stateOf(order.id)).toBe('ready');
});

test('SEC-40: what breaks a rule of its profile is not signed, and nothing is reserved', async () => {
  const order = await givenReadyOrder(given.ca, applicant);
  // Clients of CRLs do not speak HTTPS, which would need a certificate whose CRL they would look for.
  const ca = { ...given.ca, urls: { ...given.ca.urls, httpUrl: 'https://pki.corp.example' } };
  expect(await problemOf(finalize(ca, applicant, order, await aRequest()))).toMatchObject({
    type: 'serverInternal',
    status: 500,
    message: expect.stringContaining('not signed'),
  });
  expect(await rowOf(order.id)).toMatchObject({ state: 'ready', serial: null, tbs: null });
  expect(await certificatesOf(given.ca, order.id)).toEqual([]);
  expect(given.logLines.join('')).toContain('"rule":"plain_http"');
});

test('FIN-8: what is asked for beyond names and must-staple is ignored', async () => {
  const order = await givenReadyOrder(given.ca, applicant);
  const extensions = [
    keyUsage('keyCertSign'),
    extendedKeyUsage('clientAuth'),
    basicConstraints({ ca: false }),
    mustStaple(),
  ];
  await finalize(given.ca, applicant, order, await aRequest({ extensions }));
  expect(parseCertificate(await certificateOf(given.ca, order.id)).extensions).toMatchObject({
    keyUsage: ['digitalSignature'],
    extendedKeyUsage: ['serverAuth'],
    basicConstraints: { ca: false },
    mustStaple: true,
  });
});
