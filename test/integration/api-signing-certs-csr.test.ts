// /v1/signing_certs: an intermediate whose parent is elsewhere gets a CSR, and is completed by the certificate for it.
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseId } from '../../src/core/ids.ts';
import { installCertificate } from '../../src/core/install-certificate.ts';
import { findSigningCert } from '../../src/store/signing-certs.ts';
import { parseCsr, readCsrPem, verifyCsr } from '../../src/x509/csr.ts';
import { basicConstraints, keyUsage } from '../../src/x509/extensions.ts';
import { generatePrivateKey } from '../../src/x509/private-key.ts';
import { testApi } from '../support/api-client.ts';
import { type ForeignCa, type ForeignParts, foreignCa } from '../support/foreign-ca.ts';
import { admin } from '../support/given.ts';

const PATH = '/v1/signing_certs';
let api: Awaited<ReturnType<typeof testApi>>;
let elsewhere: ForeignCa;
beforeAll(async () => {
  api = await testApi();
  elsewhere = await foreignCa({ subject: { CN: 'Elsewhere' } });
});
afterAll(() => api[Symbol.asyncDispose]());

const request = (fields: object = {}) =>
  api.post(PATH, {
    signing_cert: {
      cert_type: 'intermediate',
      key_availability: 'online',
      private_key_type: 'ec_256',
      name: 'Corp Issuing',
      ...fields,
    },
  });
const csrOf = async (id: string) => readCsrPem((await api.get(`${PATH}/${id}/csr`)).text);
const answerOf = async (id: string, parts: ForeignParts = {}) => {
  const { spki, subject } = await csrOf(id);
  return foreignCa({ parent: elsewhere, spki, subject: subject.fields, pathLength: 0, ...parts });
};
const put = (id: string, fields: object) => api.put(`${PATH}/${id}`, { signing_cert: fields });
const problems = ({ body }: Awaited<ReturnType<typeof put>>) =>
  body.errors.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`);

describe('a CA cert whose parent is elsewhere', () => {
  test.each(['ec_256', 'ec_384', 'ec_521', 'rsa_2048'])(
    'of type %s is there without a certificate',
    async (keyType) => {
      const { status, body } = await request({ private_key_type: keyType, subject: { O: 'Acme', C: 'DE' } });
      expect(status).toBe(201);
      expect(body).toMatchObject({
        cert_type: 'intermediate',
        key_availability: 'online',
        key_type: keyType,
        public_cert: null,
        expires_at: null,
        signing_cert_id: null,
        name: 'Corp Issuing',
        subject: { CN: 'Corp Issuing', O: 'Acme', C: 'DE' },
        path_length: null,
        name_constraints: null,
        in_use: false,
      });
      expect((await api.get(`${PATH}/${body.id}`)).body).toEqual(body);
      expect((await api.get(`${PATH}?limit=200`)).body.collection.map(({ id }: { id: string }) => id)).toContain(
        body.id,
      );
    },
  );

  test('has a CSR for its key and subject that asks for a CA certificate', async () => {
    const { body } = await request();
    const { status, headers, text } = await api.get(`${PATH}/${body.id}/csr`);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/x-pem-file']);
    const csr = readCsrPem(text);
    await verifyCsr(csr);
    expect(csr.subject.fields).toEqual({ CN: 'Corp Issuing', O: 'Corp Issuing' });
    expect(csr.requestsCa).toBe(true);
    expect(parseCsr(csr.der).names).toEqual([{ type: 'dns', value: 'corp issuing' }]);
  });

  test.each([
    ['valid_days', { valid_days: 3 }],
    ['path_length', { path_length: 3 }],
    ['name_constraints', { name_constraints: { permitted_dns: ['corp.example'] } }],
  ])('cannot be asked for with %s, which is for the parent to say', async (field, fields) => {
    expect(problems(await request(fields))).toEqual([`signing_cert.${field} not_applicable`]);
  });

  test('cannot sign while it waits, and can be renamed and deleted', async () => {
    const { id } = (await request()).body;
    const below = await request({ signing_cert_id: id });
    expect(below.body.code).toBe('cannot_sign');
    expect((await put(id, { name: 'Later' })).body).toMatchObject({ name: 'Later', public_cert: null });
    expect((await put(id, { public_cert: null })).status).toBe(200);
    expect((await api.delete(`${PATH}/${id}`)).status).toBe(202);
  });

  test('other CA certs have no CSR', async () => {
    const { id } = (await request({ cert_type: 'root' })).body;
    expect((await api.get(`${PATH}/${id}/csr`)).status).toBe(404);
    expect((await api.get(`${PATH}/scrt_01h455vb4pex5vsknk084sn02q/csr`)).status).toBe(404);
  });
});

describe('the certificate for the CSR', () => {
  test('completes the CA cert, which can sign from then on', async () => {
    const { body } = await request();
    const certificate = await answerOf(body.id, { pathLength: 1, subject: { CN: 'As the parent wants it' } });
    const completed = await put(body.id, { public_cert: certificate.publicCert });
    expect([completed.status, completed.body]).toEqual([
      200,
      {
        ...body,
        public_cert: certificate.publicCert,
        expires_at: '2036-01-01T00:00:00Z',
        subject: { CN: 'As the parent wants it' },
        path_length: 1,
      },
    ]);
    const below = await request({ name: 'Below', signing_cert_id: body.id });
    expect(below.status).toBe(201);
    expect(
      new X509Certificate(below.body.public_cert).verify(new X509Certificate(certificate.publicCert).publicKey),
    ).toBe(true);
    expect((await api.get(`${PATH}/${body.id}/csr`)).status).toBe(200);
    const { collection } = (await api.get(`/v1/audit_events?object_id=${body.id}`)).body;
    expect(collection).toContainEqual(
      expect.objectContaining({
        action: 'update',
        before: expect.objectContaining({ expires_at: null }),
        after: expect.objectContaining({ expires_at: '2036-01-01T00:00:00.000Z', path_length: 1 }),
      }),
    );
  });

  test('can come with a new name, and once it is there never changes', async () => {
    const { id } = (await request()).body;
    const { publicCert } = await answerOf(id);
    expect((await put(id, { public_cert: publicCert, name: 'Issuing 1' })).body.name).toBe('Issuing 1');
    expect((await put(id, { public_cert: publicCert })).status).toBe(200);
    const renewed = await answerOf(id);
    for (const other of [renewed.publicCert, 'x', null]) {
      const refused = await put(id, { public_cert: other });
      expect([refused.status, refused.body.code, problems(refused)]).toEqual([
        422,
        'immutable',
        ['signing_cert.public_cert immutable'],
      ]);
    }
  });

  test('finds its parent when that has been imported', async () => {
    const offline = await foreignCa({ subject: { CN: 'Offline Root' } });
    const parent = await api.post(PATH, {
      signing_cert: { cert_type: 'root', key_availability: 'offline', public_cert: offline.publicCert },
    });
    const { id } = (await request()).body;
    const { publicCert } = await answerOf(id, { parent: offline });
    const completed = await put(id, { public_cert: publicCert });
    expect(completed.body.signing_cert_id).toBe(parent.body.id);
    expect((await api.get(`${PATH}/${parent.body.id}`)).body.in_use).toBe(true);
  });

  test.each<[string, string, () => Promise<ForeignParts>]>([
    ['for another key', 'key_mismatch', async () => ({ spki: (await generatePrivateKey('ec_256')).spki })],
    ['of no CA', 'not_a_ca', async () => ({ extensions: [basicConstraints({ ca: false })] })],
    [
      'that cannot sign CRLs',
      'key_usage',
      async () => ({ extensions: [basicConstraints({ ca: true }), keyUsage('keyCertSign')] }),
    ],
    ['that has expired', 'expired', async () => ({ notAfter: new Date('2026-05-17T11:59:59Z') })],
  ])('is refused when it is one %s', async (_, code, parts) => {
    const { id } = (await request()).body;
    const refused = await put(id, { public_cert: (await answerOf(id, await parts())).publicCert, name: 'Unchanged' });
    expect([refused.status, problems(refused)]).toEqual([422, [`signing_cert.public_cert ${code}`]]);
    expect((await api.get(`${PATH}/${id}`)).body).toMatchObject({ public_cert: null, name: 'Corp Issuing' });
  });

  test('loses against a change that came after the CA cert was looked at', async () => {
    const { id } = (await request()).body;
    const uuid = parseId('scrt', id) ?? expect.fail();
    const seen = await findSigningCert(api.ca.database.db, uuid, api.ca.clock.now());
    await put(id, { name: 'Renamed meanwhile' });
    const install = { pem: (await answerOf(id)).publicCert, name: 'Corp Issuing' };
    expect(await installCertificate(api.ca, admin, seen ?? expect.fail(), install)).toBeUndefined();
    expect((await api.get(`${PATH}/${id}`)).body).toMatchObject({ name: 'Renamed meanwhile', public_cert: null });
  });

  test('twenty at once complete it once', async () => {
    const { id } = (await request()).body;
    const certificates = await Promise.all(Array.from({ length: 20 }, () => answerOf(id)));
    const answers = await Promise.all(certificates.map(({ publicCert }) => put(id, { public_cert: publicCert })));
    const winners = answers.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    expect(
      new Set(answers.filter(({ status }) => status === 422).map(({ body }) => body.code)).difference(
        new Set(['conflict', 'immutable']),
      ).size,
    ).toBe(0);
    expect((await api.get(`${PATH}/${id}`)).body).toEqual(winners[0]?.body);
  });
});
