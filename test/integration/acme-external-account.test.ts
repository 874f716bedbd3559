// External account bindings over HTTPS (RFC 8555 section 7.3.4): what binds, what does not, and many at once.
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExternalBindingView } from '../../src/core/external-bindings.ts';
import { formatId, parseId } from '../../src/core/ids.ts';
import { testAcme } from '../support/acme.ts';
import { type AcmeAnswer, type AcmeClient, anAcmeKey, base64url, signedJws } from '../support/acme-client.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenExternalBinding } from '../support/given-external-binding.ts';

const MANY = 50;

type Binding = { readonly protected: string; readonly payload: string; readonly signature: string };

let acme: Awaited<ReturnType<typeof testAcme>>;
let closed: Awaited<ReturnType<typeof givenDirectory>>;
beforeAll(async () => {
  acme = await testAcme();
  closed = await givenDirectory(acme.ca, { registration_mode: 'preregister' });
});
afterAll(() => acme[Symbol.asyncDispose]());

const aToken = (wanted = {}) => givenExternalBinding(acme.ca, closed, wanted);
const kidOf = ({ id, keyId }: ExternalBindingView) => keyId ?? formatId('eab', id);
const aClient = (key = anAcmeKey()) => acme.client({ key, slug: closed.fields.slug });
const macBy =
  ({ macKey = '' }: { readonly macKey?: string | undefined }, hash = 'sha256') =>
  (data: string) =>
    createHmac(hash, Buffer.from(macKey, 'base64url')).update(data).digest();
const bind = (client: AcmeClient, token: ExternalBindingView, header = {}, hash = 'sha256'): Promise<Binding> =>
  client.binding(kidOf(token), macBy(token, hash), header);
const register = async (client: AcmeClient, externalAccountBinding: unknown, others = {}): Promise<AcmeAnswer> =>
  client.register({ externalAccountBinding, ...others });
const problem = ({ status, json }: AcmeAnswer) => [
  status,
  String(json?.type).replace(/^urn:ietf:params:acme:error:/, ''),
];
const tokenRow = ({ id }: { readonly id: string }) =>
  acme.ca.database.db
    .selectFrom('external_bindings')
    .select('acme_key_id')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();

test('EAB-1: without a binding: 403 externalAccountRequired', async () => {
  expect(problem(await aClient().register())).toEqual([403, 'externalAccountRequired']);
});

test('EAB-4: the account has the settings of the token, and shows the binding as it came, for ever', async () => {
  const [token, client] = [await aToken({ order_validations: 'auto_approve', name: 'till' }), aClient()];
  const { protected: header, payload, signature } = await bind(client, token);
  // In another order than ours, and with members that are not of a JWS.
  const sent = { signature, payload, protected: header };
  const answer = await register(client, { ...sent, comment: 'x', '': { payload: 'x' } });
  expect(answer.status).toBe(201);
  expect(answer.text).toContain(`"externalAccountBinding":${JSON.stringify(sent)}`);
  expect((await client.post(client.kid ?? '')).text).toContain(`"externalAccountBinding":${JSON.stringify(sent)}`);
  const id = parseId('acmk', client.kid?.split('/').at(-1) ?? '');
  const account = await acme.ca.database.db
    .selectFrom('acme_keys')
    .select(['name', 'order_validations', 'external_binding_id', 'eab_jws'])
    .where('id', '=', id ?? '')
    .executeTakeFirstOrThrow();
  const eab_jws = JSON.stringify(sent);
  expect(account).toEqual({ name: 'till', order_validations: 'auto_approve', external_binding_id: token.id, eab_jws });
});

test.each([
  ['HS256', 'sha256'],
  ['HS384', 'sha384'],
  ['HS512', 'sha512'],
])('EAB-2: a MAC by %s binds', async (alg, hash) => {
  const client = aClient();
  expect((await register(client, await bind(client, await aToken(), { alg }, hash))).status).toBe(201);
});

test('EAB-8: the kid is the key id of the token, where it has one', async () => {
  const [token, client] = [await aToken({ key_id: 'till.7_A-b' }), aClient()];
  expect((await register(client, await bind(client, token))).status).toBe(201);
});

describe('EAB-2: malformed, and the token stays unused, when', () => {
  const changed = async (client: AcmeClient, token: ExternalBindingView, change: (binding: Binding) => unknown) =>
    change(await bind(client, token));
  const remade = (token: ExternalBindingView, header: object, payload: unknown): Binding => {
    const encoded = { protected: base64url(JSON.stringify(header)), payload: base64url(JSON.stringify(payload)) };
    return { ...encoded, signature: macBy(token)(`${encoded.protected}.${encoded.payload}`).toString('base64url') };
  };
  type Case = (client: AcmeClient, token: ExternalBindingView, url: string) => Promise<unknown>;
  const cases: Readonly<Record<string, Case>> = {
    'it is text': async () => 'e30.e30.e30',
    'it is null': async () => null,
    'it is in the general serialization': (client, token) =>
      changed(client, token, ({ payload, ...signature }) => ({ payload, signatures: [signature] })),
    'it has an unprotected header': (client, token) =>
      changed(client, token, (binding) => ({ ...binding, header: {} })),
    'it has no payload': (client, token) => changed(client, token, ({ payload: _, ...binding }) => binding),
    'it has crit': (client, token) => bind(client, token, { crit: ['url'] }),
    'its alg is none': (client, token) => bind(client, token, { alg: 'none' }),
    'its alg is HS1': (client, token) => bind(client, token, { alg: 'HS1' }),
    'its alg is a name of every object': (client, token) => bind(client, token, { alg: 'constructor' }),
    'its alg is RS256': (client, token) => bind(client, token, { alg: 'RS256' }),
    'it is signed by ES256, by the key of the account': async (client, token, url) =>
      signedJws(client.key, { alg: 'ES256', kid: kidOf(token), url }, client.key.jwk),
    'it has no kid': (client, token) => bind(client, token, { kid: undefined }),
    'its kid is a number': (client, token) => bind(client, token, { kid: 7 }),
    'it has a nonce': (client, token) => bind(client, token, { nonce: 'AAAA' }),
    'it has no url': (client, token) => bind(client, token, { url: undefined }),
    'its url is another': (client, token, url) => bind(client, token, { url: `${url}/` }),
    'its payload is another key': (client, token, url) =>
      Promise.resolve(remade(token, { alg: 'HS256', kid: kidOf(token), url }, anAcmeKey(client.key.alg).jwk)),
    'its payload is no key': (_, token, url) =>
      Promise.resolve(remade(token, { alg: 'HS256', kid: kidOf(token), url }, { kty: 'oct', k: 'AAAA' })),
    'its payload has a member twice': async (client, token, url) => {
      const header = base64url(JSON.stringify({ alg: 'HS256', kid: kidOf(token), url }));
      const payload = base64url(JSON.stringify(client.key.jwk).replace('{', '{"kty":"EC",'));
      return { protected: header, payload, signature: macBy(token)(`${header}.${payload}`).toString('base64url') };
    },
    'its MAC has padding': (client, token) =>
      changed(client, token, (binding) => ({ ...binding, signature: `${binding.signature}=` })),
  };
  test.each(Object.entries(cases))('%s', async (_, make) => {
    const [client, token] = [aClient(), await aToken()];
    const answer = await register(client, await make(client, token, await client.url('newAccount')));
    expect(problem(answer)).toEqual([400, 'malformed']);
    expect(await tokenRow(token)).toEqual({ acme_key_id: null });
    // Nothing else was wrong with them.
    expect((await register(client, await bind(client, token))).status).toBe(201);
  });
});

describe('EAB-3: 403 with one text for', () => {
  test('a wrong MAC, one cut short, an unknown kid, a token of another directory, and a spent one without its key', async () => {
    const [token, spent, elsewhere] = [
      await aToken(),
      await aToken(),
      await givenExternalBinding(acme.ca, acme.directory),
    ];
    const first = aClient();
    await register(first, await bind(first, spent));
    const wrongKey = { macKey: Buffer.alloc(32, 1).toString('base64url') };
    const cases: ((client: AcmeClient) => Promise<unknown>)[] = [
      (client) => client.binding(kidOf(token), macBy(wrongKey)),
      (client) => client.binding(kidOf(token), (data) => macBy(token)(data).subarray(0, 16)),
      (client) => client.binding(kidOf(token), () => Buffer.alloc(0)),
      (client) => client.binding('nobody', macBy(token)),
      (client) => client.binding('', macBy(token)),
      (client) => client.binding(formatId('eab', closed.id), macBy(token)),
      (client) => bind(client, elsewhere),
      (client) => client.binding(kidOf(spent), macBy(wrongKey)),
      // JWS-5, SEC-20: what is signed is the whole of it.
      async (client) => ({
        ...(await bind(client, token)),
        protected: (await bind(client, token, { x: 1 })).protected,
      }),
    ];
    const texts = new Set<string>();
    for (const make of cases) {
      const client = aClient();
      const answer = await register(client, await make(client));
      expect(problem(answer)).toEqual([403, 'unauthorized']);
      texts.add(answer.text);
    }
    expect(texts.size).toBe(1);
  });

  test('a spent token of which the client holds the key: it is told that it is spent', async () => {
    const [token, first, second] = [await aToken(), aClient(), aClient()];
    await register(first, await bind(first, token));
    const answer = await register(second, await bind(second, token));
    expect(problem(answer)).toEqual([403, 'unauthorized']);
    expect(answer.json.detail).toContain('was used');
  });
});

test('EAB-5: in an open directory a binding that is sent is verified all the same', async () => {
  const token = await givenExternalBinding(acme.ca, acme.directory);
  const client = acme.client();
  const wrong = await client.binding(kidOf(token), macBy({ macKey: 'AAAA' }));
  expect(problem(await register(client, wrong))).toEqual([403, 'unauthorized']);
  const binding = await client.binding(kidOf(token), macBy(token));
  expect(await register(client, binding)).toMatchObject({ status: 201, json: { externalAccountBinding: binding } });
});

test('EAB-6: an account that is there: 200 with its spent token, another one, a wrong one, or none', async () => {
  const [token, unused, client] = [await aToken(), await aToken(), aClient()];
  const binding = await bind(client, token);
  const made = await register(client, binding);
  const wrong = await client.binding('nobody', macBy(token));
  for (const again of [binding, await bind(client, unused), wrong, { protected: 7 }, undefined]) {
    const answer = await register(client, again, { contact: ['mailto:new@corp.example'] });
    expect(answer).toMatchObject({ status: 200, text: made.text });
    expect(answer.headers.location).toBe(made.headers.location);
  }
  expect(await tokenRow(unused)).toEqual({ acme_key_id: null });
});

test('EAB-7: fifty clients at once with one token: one account', async () => {
  const token = await aToken();
  const clients = Array.from({ length: MANY }, () => aClient());
  const answers = await Promise.all(clients.map(async (client) => register(client, await bind(client, token))));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  const refused = answers.filter(({ status }) => status !== 201);
  expect(new Set(refused.map((answer) => problem(answer).join(' ')))).toEqual(new Set(['403 unauthorized']));
});

test('EAB-7: fifty times at once with one key and one token: one account, and everybody has it', async () => {
  const [token, key] = [await aToken(), anAcmeKey()];
  const answers = await Promise.all(
    Array.from({ length: MANY }, async () => {
      const client = aClient(key);
      return register(client, await bind(client, token));
    }),
  );
  expect(new Set(answers.map(({ headers }) => headers.location)).size).toBe(1);
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(MANY - 1).fill(200), 201]);
});
