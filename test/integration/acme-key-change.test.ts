// keyChange over HTTPS (RFC 8555 section 7.3.5): from key to key, and every way in which the inner JWS can be wrong.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testAcme } from '../support/acme.ts';
import {
  type AcmeAnswer,
  type AcmeClient,
  type AcmeKey,
  anAcmeKey,
  type FlatJws,
  type Sent,
  signedJws,
} from '../support/acme-client.ts';
import { givenDirectory } from '../support/given-directory.ts';

let acme: Awaited<ReturnType<typeof testAcme>>;
beforeAll(async () => {
  acme = await testAcme();
});
afterAll(() => acme[Symbol.asyncDispose]());

type Inner = { readonly header?: object; readonly payload?: unknown; readonly signer?: AcmeKey };

const inner = async (
  client: AcmeClient,
  key: AcmeKey,
  { header, payload, signer = key }: Inner = {},
): Promise<FlatJws> =>
  signedJws(
    signer,
    { alg: key.alg, jwk: key.jwk, url: await client.url('keyChange'), ...header },
    payload ?? { account: client.kid, oldKey: client.key.jwk },
  );
const change = async (client: AcmeClient, key: AcmeKey, made: Inner = {}, sent: Sent = {}): Promise<AcmeAnswer> =>
  client.post(await client.url('keyChange'), await inner(client, key, made), sent);
const withKey = (client: AcmeClient, key: AcmeKey) => acme.client({ key, kid: client.kid ?? '' });
const registered = async () => {
  const client = acme.client();
  await client.register({ contact: ['mailto:ops@corp.example'] });
  return Object.assign(client, { kid: client.kid ?? '' });
};
const problem = ({ status, json }: AcmeAnswer) => [
  status,
  String(json?.type).replace(/^urn:ietf:params:acme:error:/, ''),
];

test('KEY-1: from ES256 to RS256 to Ed25519: 200 with the account, and each old key is of no use', async () => {
  let client: AcmeClient & { kid: string } = await registered();
  const shown = await client.post(client.kid);
  for (const alg of ['RS256', 'EdDSA'] as const) {
    const key = anAcmeKey(alg);
    const answer = await change(client, key);
    expect(answer).toMatchObject({ status: 200, text: shown.text });
    expect(problem(await client.post(client.kid))).toEqual([400, 'malformed']);
    const again = await acme.client({ key: client.key }).register();
    expect(problem(again)).toEqual([403, 'unauthorized']);
    expect(again.json.detail).toContain('has another key now');
    const only = await acme.client({ key: client.key }).register({ onlyReturnExisting: true });
    expect(problem(only)).toEqual([400, 'accountDoesNotExist']);
    client = Object.assign(withKey(client, key), { kid: client.kid });
    expect((await client.post(client.kid)).text).toBe(shown.text);
    expect(await acme.client({ key }).register()).toMatchObject({ status: 200, headers: { location: client.kid } });
  }
});

test('KEY-2: signed by P-521 too', async () => {
  expect((await change(await registered(), anAcmeKey('ES512'))).status).toBe(200);
});

describe('malformed, and the account keeps its key, when', () => {
  const other = anAcmeKey();
  type Case = (client: AcmeClient, key: AcmeKey) => Promise<unknown> | unknown;
  const cases: Readonly<Record<string, Case>> = {
    'KEY-2: the inner JWS is none': () => ({}),
    'KEY-2: it is a list': () => [],
    'KEY-2: it has an unprotected header': async (client, key) => ({ ...(await inner(client, key)), header: {} }),
    'KEY-2: it has no jwk': (client, key) => inner(client, key, { header: { jwk: undefined } }),
    'KEY-2: it has a kid in place of the jwk': (client, key) =>
      inner(client, key, { header: { jwk: undefined, kid: client.kid } }),
    'KEY-2: it has a kid, too': (client, key) => inner(client, key, { header: { kid: client.kid } }),
    'KEY-2: it has a nonce': (client, key) => inner(client, key, { header: { nonce: 'AAAA' } }),
    'KEY-2: it has no url': (client, key) => inner(client, key, { header: { url: undefined } }),
    'KEY-2: its url is another': async (client, key) =>
      inner(client, key, { header: { url: await client.url('newAccount') } }),
    'KEY-2: its alg is that of another key': (client, key) => inner(client, key, { header: { alg: 'ES384' } }),
    'KEY-2: its alg is HS256': (client, key) => inner(client, key, { header: { alg: 'HS256' } }),
    'KEY-2: its alg is none': (client, key) => inner(client, key, { header: { alg: 'none' } }),
    'KEY-2: another key has signed it': (client, key) => inner(client, key, { signer: other }),
    'KEY-2: the old key has signed it': (client, key) => inner(client, key, { signer: client.key }),
    'KEY-3: the payload is no object': (client, key) => inner(client, key, { payload: [] }),
    'KEY-3: the payload is empty': (client, key) => inner(client, key, { payload: '' }),
    'KEY-3: the account is missing': (client, key) => inner(client, key, { payload: { oldKey: client.key.jwk } }),
    'KEY-3: the account is another': async (client, key) =>
      inner(client, key, { payload: { account: (await registered()).kid, oldKey: client.key.jwk } }),
    'KEY-3: the account is not its URL byte for byte': (client, key) =>
      inner(client, key, { payload: { account: `${client.kid}/`, oldKey: client.key.jwk } }),
    'KEY-3: the old key is missing': (client, key) => inner(client, key, { payload: { account: client.kid } }),
    'KEY-3: the old key is not the current one': (client, key) =>
      inner(client, key, { payload: { account: client.kid, oldKey: other.jwk } }),
    'KEY-3: the old key is the new one': (client, key) =>
      inner(client, key, { payload: { account: client.kid, oldKey: key.jwk } }),
    'KEY-3: the old key is no key': (client, key) =>
      inner(client, key, { payload: { account: client.kid, oldKey: { kty: 'EC' } } }),
    'KEY-5: the new key is the old one': (client) => inner(client, client.key),
  };
  test.each(Object.entries(cases))('%s', async (_, make) => {
    const [client, key] = [await registered(), anAcmeKey()];
    const answer = await client.post(await client.url('keyChange'), await make(client, key));
    expect(problem(answer)).toEqual([400, 'malformed']);
    // Nothing else was wrong with it.
    expect((await change(client, key)).status).toBe(200);
  });
});

test('KEY-3: the old key may be written with its members in another order', async () => {
  const client = await registered();
  const { kty, crv, x, y } = client.key.jwk;
  const payload = { oldKey: { y, x, kty, crv, use: 'sig' }, account: client.kid };
  expect((await change(client, anAcmeKey(), { payload })).status).toBe(200);
});

test('JWS-9: the outer JWS names the account, and not its key', async () => {
  const client = await registered();
  expect(problem(await change(client, anAcmeKey(), {}, { withJwk: true }))).toEqual([400, 'malformed']);
});

test.each([
  ['a short RSA key', { kty: 'RSA', e: 'AQAB', n: Buffer.alloc(128, 0xff).toString('base64url') }],
  ['a symmetric one', { kty: 'oct', k: 'AAAA' }],
  ['a point that is not on its curve', { kty: 'EC', crv: 'P-256', x: 'A'.repeat(43), y: 'A'.repeat(43) }],
  ['text', 'key'],
])('KEY-5: the new key is %s: badPublicKey', async (_, jwk) => {
  const client = await registered();
  expect(problem(await change(client, anAcmeKey(), { header: { jwk } }))).toEqual([400, 'badPublicKey']);
});

test('KEY-4, ERR-7: the new key is that of another account here: 409 with its Location', async () => {
  const [client, other] = [await registered(), await registered()];
  const answer = await change(client, other.key);
  expect(answer.status).toBe(409);
  expect(answer.headers.location).toBe(other.kid);
});

test('KEY-4: the new key is that of an account elsewhere, or was withdrawn: 403 without Location', async () => {
  const directory = await givenDirectory(acme.ca, { registration_mode: 'open' });
  const elsewhere = acme.client({ slug: directory.fields.slug });
  await elsewhere.register();
  const ended = await registered();
  await ended.post(ended.kid, { status: 'deactivated' });
  const client = await registered();
  for (const { key } of [elsewhere, ended]) {
    const answer = await change(client, key);
    expect(problem(answer)).toEqual([403, 'unauthorized']);
    expect(answer.headers).not.toHaveProperty('location');
  }
});

test('KEY-4: two at once: one is 200, the other malformed', async () => {
  const client = await registered();
  const keys = [anAcmeKey(), anAcmeKey()];
  const answers = await Promise.all(keys.map((key) => change(withKey(client, client.key), key)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  expect(answers.map(problem)).toContainEqual([400, 'malformed']);
  const winner = keys[answers.findIndex(({ status }) => status === 200)] ?? client.key;
  expect((await withKey(client, winner).post(client.kid)).status).toBe(200);
});
