// PUT /v1/signing_certs/{id}/crl: the CRL of an offline CA, published where ours are, or refused with nothing replaced.
import { expect, test } from 'vitest';
import { formatId, parseId } from '../../src/core/ids.ts';
import { readCrlPem } from '../../src/x509/crl-reader.ts';
import { buildName } from '../../src/x509/name.ts';
import { generatePrivateKey } from '../../src/x509/private-key.ts';
import { testApi } from '../support/api-client.ts';
import { type ForeignCa, foreignCa } from '../support/foreign-ca.ts';
import { foreignCrl } from '../support/foreign-crl.ts';
import { crlOf } from '../support/given-crl.ts';
import { givenRoot } from '../support/given-signing-cert.ts';

/** An offline root, and what uploads CRLs of it. */
async function given() {
  const api = await testApi();
  const root = await foreignCa();
  const fields = { cert_type: 'root', key_availability: 'offline', public_cert: root.publicCert };
  const { body } = await api.post('/v1/signing_certs', { signing_cert: fields });
  const upload = (crl: string) => api.put(`/v1/signing_certs/${body.id}/crl`, { signing_cert: { crl } });
  const id = parseId('scrt', body.id) ?? '';
  return { ...api, root, upload, published: () => crlOf(api.ca, { id }), path: `/v1/signing_certs/${body.id}`, id };
}

test('the CRL of an offline CA is published, and replaced by a newer one', async () => {
  await using world = await given();
  const serial = Buffer.from('0123456789abcdef', 'hex');

  const first = await world.upload(await foreignCrl(world.root, { number: 7n }));
  const second = await world.upload(await foreignCrl(world.root, { number: 8n, revoked: [serial] }));

  expect([first.status, second.status]).toEqual([200, 200]);
  expect(second.body).toEqual((await world.get(world.path)).body);
  expect(await world.published()).toMatchObject({ entryCount: 1, extensions: { crlNumber: 8n } });
  const { body } = await world.get(`/v1/audit_events?object_id=${second.body.id}`);
  expect(body.collection).toContainEqual(
    expect.objectContaining({
      action: 'update',
      before: expect.objectContaining({ crl_number: '7' }),
      after: expect.objectContaining({ crl_number: '8' }),
    }),
  );
});

test('the same CRL may be sent again, and changes nothing', async () => {
  await using world = await given();
  const crl = await foreignCrl(world.root);
  await world.upload(crl);
  const records = async () => (await world.get('/v1/audit_events?limit=100')).body.collection.length;
  const before = await records();

  expect((await world.upload(crl)).status).toBe(200);

  expect(await records()).toBe(before);
});

const wrong: readonly (readonly [string, string, (root: ForeignCa) => Promise<string>])[] = [
  ['of another issuer', 'wrong_issuer', (root) => foreignCrl(root, { number: 9n, issuer: buildName({ CN: 'Other' }) })],
  [
    'of another key of that name',
    'wrong_issuer',
    (root) => foreignCrl(root, { number: 9n, keyIdentifier: Buffer.alloc(20, 1) }),
  ],
  [
    'with a bad signature',
    'bad_signature',
    async (root) => foreignCrl(root, { number: 9n, signedBy: await generatePrivateKey('ec_256') }),
  ],
  ['with an older number', 'older', (root) => foreignCrl(root, { number: 4n })],
  ['with the number of another', 'older', (root) => foreignCrl(root, { number: 5n, revoked: [Buffer.of(1)] })],
  [
    'that has ended',
    'expired',
    (root) => foreignCrl(root, { number: 9n, nextUpdate: new Date('2026-05-17T11:00:00Z') }),
  ],
  [
    'of the future',
    'not_yet_valid',
    (root) => foreignCrl(root, { number: 9n, thisUpdate: new Date('2026-05-17T13:00:00Z') }),
  ],
  ['that is a certificate', 'wrong_pem', async ({ publicCert }) => publicCert],
  ['that was cut', 'malformed', async (root) => (await foreignCrl(root, { number: 9n })).replace(/\n.{64}\n/, '\n')],
];

test.each(wrong)('a CRL %s is refused as %s, and the last one stays', async (_what, code, make) => {
  await using world = await given();
  await world.upload(await foreignCrl(world.root, { number: 5n }));
  const before = await world.published();

  const { status, body } = await world.upload(await make(world.root));

  expect(status).toBe(422);
  expect(body.errors).toEqual([{ field: 'signing_cert.crl', code, message: expect.stringMatching(/\.$/) }]);
  expect((await world.published()).der).toEqual(before.der);
});

test('an online CA makes its CRL itself, and an unknown one has none', async () => {
  await using world = await given();
  const online = await givenRoot(world.ca);
  const crl = await foreignCrl(world.root);
  const put = (id: string) => world.put(`/v1/signing_certs/${formatId('scrt', id)}/crl`, { signing_cert: { crl } });

  const refused = await put(online.id);
  expect(refused.status).toBe(422);
  expect(refused.body.errors).toMatchObject([{ field: 'signing_cert.crl', code: 'invalid' }]);
  expect((await put('01890000-0000-7000-8000-000000000000')).status).toBe(404);
});

test('only admins upload, and only a CRL alone', async () => {
  await using world = await given();
  const crl = await foreignCrl(world.root);
  const path = `${world.path}/crl`;

  expect((await world.put(path, { signing_cert: { crl } }, { as: 'write' })).status).toBe(403);
  expect((await world.put(path, { signing_cert: {} })).status).toBe(422);
  expect((await world.put(path, { signing_cert: { crl, name: 'x' } })).status).toBe(422);
});

test('uploads at once leave the newest, whoever comes last', async () => {
  await using world = await given();
  const crls = await Promise.all(
    Array.from({ length: 6 }, (_, n) => foreignCrl(world.root, { number: BigInt(n + 1) })),
  );

  const statuses = await Promise.all(crls.map(async (crl) => (await world.upload(crl)).status));

  expect(statuses.every((status) => status === 200 || status === 422)).toBe(true);
  expect((await world.published()).extensions.crlNumber).toBe(6n);
  const last = crls.at(-1) ?? '';
  expect((await readCrlPem(last)).der).toEqual((await world.published()).der);
});
