// revokeCert over HTTPS (RFC 8555 section 7.6): whose signature counts, and what the payload may be.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { certIdText } from '../../src/core/cert-id.ts';
import { parseId } from '../../src/core/ids.ts';
import { readPublicKey } from '../../src/x509/public-key.ts';
import { testAcme } from '../support/acme.ts';
import { type AcmeAnswer, type AcmeClient, type AcmeKey, anAcmeKey } from '../support/acme-client.ts';
import { givenIssuedCert } from '../support/given-issued-cert.ts';

let acme: Awaited<ReturnType<typeof testAcme>>;
let owner: AcmeClient & { readonly kid: string };
beforeAll(async () => {
  acme = await testAcme();
  owner = await acme.account();
});
afterAll(() => acme[Symbol.asyncDispose]());

async function aCert(key: AcmeKey = anAcmeKey()) {
  const acmeKeyId = parseId('acmk', owner.kid.split('/').at(-1) ?? '') ?? '';
  const { id: directoryId, fields } = acme.directory;
  const signingCertId = parseId('scrt', fields.signing_cert_id) ?? fields.signing_cert_id;
  const account = { acmeKeyId, directoryId, signingCertId };
  const cert = await givenIssuedCert(acme.ca, account, { spki: readPublicKey(key.publicPem).spki });
  return { ...cert, key, text: cert.der.toString('base64url') };
}
const post = async (client: AcmeClient, payload: unknown): Promise<AcmeAnswer> =>
  client.post(await client.url('revokeCert'), payload);
/** Signed by the key itself, which has no account. */
const postBy = async (key: AcmeKey, payload: unknown): Promise<AcmeAnswer> => {
  const client = acme.client({ key });
  return client.post(await client.url('revokeCert'), payload, { withJwk: true });
};
const stateOf = async ({ id }: { readonly id: string }) =>
  acme.ca.database.db
    .selectFrom('issued_certs')
    .select(['state', 'reason'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
const problem = ({ status, json }: AcmeAnswer) => [
  status,
  String(json?.type).replace(/^urn:ietf:params:acme:error:/, ''),
];

test('REV-1: by its account: 200 with an empty body', async () => {
  const cert = await aCert();
  const answer = await post(owner, { certificate: cert.text, reason: 4 });
  expect([answer.status, answer.text]).toEqual([200, '']);
  expect(answer.headers['replay-nonce']).toBeDefined();
  expect(await stateOf(cert)).toEqual({ state: 'revoked', reason: 4 });
  expect(problem(await post(owner, { certificate: cert.text, reason: 4 }))).toEqual([400, 'alreadyRevoked']);
});

test.each(['ES256', 'ES384', 'ES512', 'RS256', 'EdDSA'] as const)(
  'REV-1, REV-2: by its own key, of %s',
  async (alg) => {
    const cert = await aCert(anAcmeKey(alg));
    expect(await postBy(cert.key, { certificate: cert.text })).toMatchObject({ status: 200, text: '' });
    expect(await stateOf(cert)).toEqual({ state: 'revoked', reason: 0 });
  },
);

test('REV-3: the key upgrades the reason to keyCompromise, once', async () => {
  const cert = await aCert();
  await post(owner, { certificate: cert.text, reason: 5 });
  expect(problem(await postBy(cert.key, { certificate: cert.text, reason: 4 }))).toEqual([400, 'alreadyRevoked']);
  expect((await postBy(cert.key, { certificate: cert.text, reason: 1 })).status).toBe(200);
  expect(await stateOf(cert)).toEqual({ state: 'revoked', reason: 1 });
  expect(problem(await postBy(cert.key, { certificate: cert.text, reason: 1 }))).toEqual([400, 'alreadyRevoked']);
});

test('REV-8: a compromised key is no key for an account: badPublicKey, at newAccount and at keyChange', async () => {
  const cert = await aCert();
  const client = acme.client({ key: cert.key });
  expect(problem(await client.register())).toEqual([400, 'badPublicKey']); // KEY-7
  await postBy(cert.key, { certificate: cert.text, reason: 1 });
  const answer = await client.register();
  expect(problem(answer)).toEqual([400, 'badPublicKey']);
  expect(answer.json.detail).toContain('blocked');
});

describe('REV-6: 403 unauthorized for', () => {
  test('an account that has nothing to do with it, and a key that is another certificate’s', async () => {
    const [cert, another] = [await aCert(), await aCert()];
    expect(problem(await post(await acme.account(), { certificate: cert.text }))).toEqual([403, 'unauthorized']);
    expect(problem(await postBy(another.key, { certificate: cert.text }))).toEqual([403, 'unauthorized']);
    expect(problem(await postBy(owner.key, { certificate: cert.text }))).toEqual([403, 'unauthorized']);
    expect(await stateOf(cert)).toMatchObject({ state: 'valid' });
  });
});

describe('REV-5: refused are', () => {
  test.each([2, 6, 7, 8, 9, 10, 11, -1])('the reason %i: badRevocationReason', async (reason) => {
    const cert = await aCert();
    const answer = await post(owner, { certificate: cert.text, reason });
    expect(problem(answer)).toEqual([400, 'badRevocationReason']);
    expect(answer.json.detail).toContain('0, 1, 3, 4, 5');
  });

  test.each(['1', 1.5, null, true, [1]])('the reason %j: malformed', async (reason) => {
    const cert = await aCert();
    expect(problem(await post(owner, { certificate: cert.text, reason }))).toEqual([400, 'malformed']);
    expect(await stateOf(cert)).toMatchObject({ state: 'valid' });
  });
});

test('REV-6: malformed without a certificate, and for what is none', async () => {
  const { text, der } = await aCert();
  const wrong = [undefined, null, 7, '', 'AAAA', `${text}=`, der.toString('base64').replace(/=*$/, '=='), [text]];
  for (const certificate of wrong) expect(problem(await post(owner, { certificate }))).toEqual([400, 'malformed']);
});

test('JWS-22: a signature that is not by the key in jwk: malformed', async () => {
  const cert = await aCert();
  const client = acme.client();
  const answer = await client.post(
    await client.url('revokeCert'),
    { certificate: cert.text },
    { withJwk: true, header: { jwk: cert.key.jwk } },
  );
  expect(problem(answer)).toEqual([400, 'malformed']);
  expect(await stateOf(cert)).toMatchObject({ state: 'valid' });
});

test('SEC-42: what was revoked at one replica is revoked at another, which had shown it as good', async () => {
  await using other = await testAcme({ beside: acme });
  const cert = await aCert();
  const { ski } = await acme.ca.database.db
    .selectFrom('signing_certs')
    .innerJoin('issued_certs', 'issued_certs.signing_cert_id', 'signing_certs.id')
    .select('signing_certs.ski')
    .where('issued_certs.id', '=', cert.id)
    .executeTakeFirstOrThrow();
  const url = `${await owner.url('renewalInfo')}/${certIdText({ keyIdentifier: ski ?? Buffer.alloc(0), serial: cert.serial })}`;
  const there = other.client({ key: owner.key, kid: owner.kid });
  const isOver = async () => new Date((await there.get(url)).json.suggestedWindow.end) < acme.ca.clock.now();
  expect(await isOver()).toBe(false);

  await post(owner, { certificate: cert.text });

  expect(await isOver()).toBe(true);
  expect(problem(await post(there, { certificate: cert.text }))).toEqual([400, 'alreadyRevoked']);
});
