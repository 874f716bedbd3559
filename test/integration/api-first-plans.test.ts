// The plans that a new installation makes at its first requests to /v1 and keeps: each row is found by its key. Lists, which
// have no key to go by, have a test of their own (list-plans.test.ts).
import { beforeAll, expect, test } from 'vitest';
import { createApiToken, revokeApiToken } from '../../src/core/api-tokens.ts';
import { formatId, parseId } from '../../src/core/ids.ts';
import { newOrder } from '../../src/core/new-order.ts';
import { readCsrPem } from '../../src/x509/csr.ts';
import { testApi } from '../support/api-client.ts';
import {
  type FirstPlan,
  firstPlansOf,
  managedWays,
  meantWalks,
  scansBesides,
  type Ways,
} from '../support/first-plans.ts';
import { foreignCa } from '../support/foreign-ca.ts';
import { foreignCrl } from '../support/foreign-crl.ts';
import { admin } from '../support/given.ts';
import { aPublicKey, spendToken } from '../support/given-acme-key.ts';
import { applicantOf } from '../support/given-applicant.ts';
import { aRequest, dns, finalize } from '../support/given-ready-order.ts';

type Api = Awaited<ReturnType<typeof testApi>>;
type Call = ReturnType<typeof callerOf>;

const ways: Ways = {
  ...managedWays,
  api_tokens_sha256_key: /^\(sha256 = /,
  directories_signing_cert_id_idx: /^\(signing_cert_id = /,
  issued_certs_list_acme_key_expiry_idx: /^\(\(acme_key_id = .* AND \(not_after > /,
  signing_certs_parent_id_idx: /^\(parent_id = /,
};

let plans: readonly FirstPlan[];
let routes: Api['routes'];
const called = new Set<string>();
beforeAll(async () => {
  await using api = await testApi({ caa: async (name) => [{ name, records: [] }] });
  ({ routes } = api);
  plans = await firstPlansOf(api.databaseUrl, () => live(api));
});

test('every statement of /v1, from the first CA cert to the last deletion, finds each row by its key', () => {
  expect(scansBesides(plans, ways, meantWalks)).toEqual([]);
  expect(plans.length).toBeGreaterThan(60);
});

test('every route was called, but those of lists', () => {
  const others = routes.filter(({ operationId }) => !operationId.startsWith('list'));
  expect(others.map(({ method, path }) => `${method} ${path}`).filter((route) => !called.has(route))).toEqual([]);
});

async function live(api: Api): Promise<void> {
  const call = callerOf(api);
  for (const path of ['/v1/openapi.json', '/v1/docs']) await call(`GET ${path}`);
  const { root, issuing, next } = await signingCerts(call);
  await apiTokens(api, root);
  const web = await directory(call, issuing, next);
  await externalBindings(api, call, web);
  await accounts(api, call, web);
  await call('DELETE /v1/directories/:id', web);
  // The slug of what is deleted goes to another one.
  await aDirectory(call, { slug: 'shop', reuse_slug: true, signing_cert_id: next });
  await call('POST /v1/signing_certs/:id/revocation', next, { signing_cert: { revoke_reason: 'superseded' } });
  await call('DELETE /v1/signing_certs/:id', issuing);
  await expect(call('DELETE /v1/signing_certs/:id', root)).rejects.toThrow('in_use');
}

/** Of routes as their table has them; throws what is refused. */
const callerOf =
  (api: Api) =>
  async (route: string, id = '', json?: object): Promise<Awaited<ReturnType<Api['get']>>> => {
    const [method = '', path = ''] = route.split(' ');
    called.add(route);
    const headers = json && { 'Content-Type': 'application/json' };
    const answer = await api.send(
      method,
      path.replace(':id', id),
      json && JSON.stringify(json),
      headers && { headers },
    );
    if (answer.status >= 400) throw new Error(`${route}: ${answer.text}`);
    return answer;
  };

async function apiTokens({ ca, get }: Api, signingCert: string): Promise<void> {
  const { token, view } = await createApiToken(ca, admin, { name: 'ci', permission: 'admin', livesMs: 3_600_000 });
  const shown = () => get(`/v1/signing_certs/${signingCert}`, { as: { token } });
  expect((await shown()).status).toBe(200);
  await revokeApiToken(ca, admin, view.id);
  expect((await shown()).status).toBe(401);
}

async function aSigningCert(call: Call, fields: object): Promise<string> {
  const online = { key_availability: 'online', private_key_type: 'ec_256' };
  return (await call('POST /v1/signing_certs', '', { signing_cert: { ...online, ...fields } })).body.id;
}

async function signingCerts(call: Call) {
  const root = await aSigningCert(call, { cert_type: 'root', name: 'Corp Root' });
  const below = { cert_type: 'intermediate', signing_cert_id: root };
  const issuing = await aSigningCert(call, { ...below, name: 'Corp Issuing' });
  const next = await aSigningCert(call, { ...below, name: 'Corp Next' });
  await call('PUT /v1/signing_certs/:id', issuing, { signing_cert: { name: 'Corp Issuing 1' } });
  await call('GET /v1/signing_certs/:id', issuing);

  const elsewhere = await foreignCa({ subject: { CN: 'Elsewhere' } });
  const requested = await aSigningCert(call, { cert_type: 'intermediate', name: 'Requested' });
  const csr = readCsrPem((await call('GET /v1/signing_certs/:id/csr', requested)).text);
  const { publicCert } = await foreignCa({ parent: elsewhere, spki: csr.spki, subject: csr.subject.fields });
  await call('PUT /v1/signing_certs/:id', requested, { signing_cert: { public_cert: publicCert } });

  const imported = { key_availability: 'offline', private_key_type: undefined };
  const offline = await aSigningCert(call, { ...imported, cert_type: 'root', public_cert: elsewhere.publicCert });
  await call('PUT /v1/signing_certs/:id/crl', offline, { signing_cert: { crl: await foreignCrl(elsewhere) } });
  const held = await foreignCa({ parent: elsewhere });
  const moved = { ...imported, key_availability: 'online', public_cert: held.publicCert, private_key: held.privateKey };
  const own = await aSigningCert(call, { ...moved, cert_type: 'intermediate', signing_cert_id: offline });
  await call('DELETE /v1/signing_certs/:id', own);
  return { root, issuing, next };
}

const aDirectory = async (call: Call, fields: object): Promise<string> =>
  (await call('POST /v1/directories', '', { directory: { name: 'Shop', ...fields } })).body.id;

async function directory(call: Call, issuing: string, next: string): Promise<string> {
  const id = await aDirectory(call, { slug: 'web', signing_cert_id: issuing });
  for (const changes of [{ slug: 'shop' }, { slug: 'web' }, { slug: 'shop' }, { signing_cert_id: next }])
    await call('PUT /v1/directories/:id', id, { directory: changes });
  await call('GET /v1/signing_certs/:id/rollover', issuing);
  return id;
}

async function externalBindings({ ca }: Api, call: Call, directory_id: string): Promise<void> {
  const made = async (fields: object): Promise<string> =>
    (await call('POST /v1/external_bindings', '', { external_binding: { directory_id, ...fields } })).body.id;
  const [first, named, used] = [await made({}), await made({ key_id: 'till' }), await made({ name: 'edge' })];
  await made({ name: 'left' });
  await call('PUT /v1/external_bindings/:id', named, { external_binding: { name: 'till' } });
  await call('GET /v1/external_bindings/:id', named);
  await call('DELETE /v1/external_bindings/:id', first);
  const { id } = await spendToken(ca, { id: uuidOf('eab', used), directoryId: uuidOf('dir', directory_id) });
  await call('DELETE /v1/acme_keys/:id', formatId('acmk', id));
}

async function accounts(api: Api, call: Call, directory_id: string): Promise<void> {
  const { ca } = api;
  const { slug } = (await call('GET /v1/directories/:id', directory_id)).body;
  const made = async (fields: object): Promise<string> => {
    const acme_key = { directory_id, public_key: await aPublicKey(), ...fields };
    return (await call('POST /v1/acme_keys', '', { acme_key })).body.id;
  };
  const id = await made({ order_validations: 'auto_approve' });
  await call('PUT /v1/acme_keys/:id', id, { acme_key: { name: 'edge' } });
  await call('PUT /v1/acme_keys/:id', id, { acme_key: { public_key: await aPublicKey() } });
  await call('GET /v1/acme_keys/:id', id);
  await call('POST /v1/directories/:id/explain', directory_id, {
    identifiers: [{ type: 'dns', value: 'shop.corp.example' }],
    acme_key_id: await made({}),
  });

  const account = await applicantOf(ca, { slug, accountId: uuidOf('acmk', id) });
  const order = async (name: string) => newOrder(ca, account, { identifiers: [dns(name)] });
  const issued = async (name: string): Promise<string> => {
    const { issuedCertId = '' } = await finalize(
      ca,
      account,
      await order(name),
      await aRequest({ names: [dns(name)] }),
    );
    return formatId('icrt', issuedCertId);
  };
  const certificate = await issued('shop.corp.example');
  await call('GET /v1/issued_certs/:id/download', certificate);
  const { order_id: valid } = (await call('GET /v1/issued_certs/:id', certificate)).body;
  await call('GET /v1/orders/:id', valid);
  await call('DELETE /v1/issued_certs/:id', certificate, { issued_cert: { revoke_reason: 'key_compromise' } });
  await issued('mail.corp.example');
  await call('DELETE /v1/orders/:id', formatId('ordr', (await order('left.corp.example')).id));
  await order('late.corp.example');
  await call('DELETE /v1/acme_keys/:id', id, { acme_key: { revoke_certs: true, revoke_reason: 'superseded' } });
}

const uuidOf = (kind: Parameters<typeof parseId>[0], id: string): string => parseId(kind, id) ?? expect.fail(id);
