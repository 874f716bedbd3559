// How requests are signed (RFC 8555 section 6.2): what is taken, and what is refused with which error.
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { FlattenedSign, importPKCS8 } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { revokeAcmeKey } from '../../src/core/revoke-acme-key.ts';
import { updateAcmeKey } from '../../src/core/update-acme-key.ts';
import { type TestAcme, testAcme } from '../support/acme.ts';
import {
  type AcmeAnswer,
  type AcmeClient,
  anAcmeKey,
  base64url,
  type FlatJws,
  type Sent,
} from '../support/acme-client.ts';
import { admin } from '../support/given.ts';
import { sampleAcmeRoutes } from '../support/sample-acme-routes.ts';

let acme: TestAcme;
let client: AcmeClient & { readonly kid: string; readonly accountId: string };
let newOrder: string;
let newAccount: string;

beforeAll(async () => {
  acme = await testAcme({ routes: sampleAcmeRoutes });
  client = await acme.account();
  newOrder = await client.url('newOrder');
  newAccount = await client.url('newAccount');
});
afterAll(() => acme[Symbol.asyncDispose]());

const seen = ({ status, json }: AcmeAnswer) => [status, json?.type?.replace('urn:ietf:params:acme:error:', '')];
const post = async (sent: Sent, payload: unknown = {}) => seen(await client.post(newOrder, payload, sent));
const inBody = (change: (jws: FlatJws) => unknown): Sent => ({ body: change });

test.each(['ES256', 'ES384', 'ES512', 'RS256', 'EdDSA'] as const)('JWS-5: %s is taken', async (alg) => {
  const own = await acme.account({ alg });
  const answer = await own.post(newOrder, { note: 'x' });
  expect([answer.status, answer.json.account, answer.json.payload]).toEqual([201, own.accountId, { note: 'x' }]);
});

test.each(['ES256', 'RS256', 'EdDSA'] as const)('JWS-5: what another library signs by %s is taken', async (alg) => {
  const own = await acme.account({ alg });
  const key = await importPKCS8(own.key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), alg);
  const jws = await new FlattenedSign(Buffer.from('{}'))
    .setProtectedHeader({ alg, kid: own.kid, nonce: await own.nonce(), url: newOrder })
    .sign(key);
  expect(seen(await own.post(newOrder, {}, { body: () => jws }))[0]).toBe(201);
});

describe('JWS-1, JWS-2, JWS-3, HTTP-3, SEC-18, SEC-19: other shapes are malformed', () => {
  test.each<[string, (jws: FlatJws) => unknown]>([
    ['compact', (jws) => `${jws.protected}.${jws.payload}.${jws.signature}`],
    ['compact in JSON', (jws) => JSON.stringify(`${jws.protected}.${jws.payload}.${jws.signature}`)],
    ['general', ({ payload, ...rest }) => ({ payload, signatures: [rest] })],
    ['flattened and general', (jws) => ({ ...jws, signatures: [] })],
    ['an unprotected header', (jws) => ({ ...jws, header: {} })],
    ['an unprotected header that is null', (jws) => ({ ...jws, header: null })],
    ['a detached payload', ({ payload: _, ...rest }) => rest],
    ['a payload that is null', (jws) => ({ ...jws, payload: null })],
    ['no signature', ({ signature: _, ...rest }) => rest],
    ['no protected header', ({ protected: _, ...rest }) => rest],
    ['padded base64url', (jws) => ({ ...jws, payload: 'e30=' })],
    ['plain base64', (jws) => ({ ...jws, signature: '+/+/' })],
    ['base64url of no whole byte', (jws) => ({ ...jws, payload: 'e30e3' })],
    ['a list', (jws) => [jws]],
    ['no JSON', () => '{'],
    ['nothing', () => Buffer.alloc(0)],
    ['a JWE', ({ protected: head }) => ({ protected: head, iv: 'AAAA', ciphertext: 'AAAA', tag: 'AAAA' })],
    ['many dots', () => '.'.repeat(60_000)],
    ['a member twice', (jws) => JSON.stringify(jws).replace('{', '{"payload":"e30",')],
    ['a header that is no JSON', (jws) => ({ ...jws, protected: base64url('{') })],
    ['a header that is a list', (jws) => ({ ...jws, protected: base64url('[]') })],
    ['a header without alg', (jws) => ({ ...jws, protected: base64url('{}') })],
    ['nested too deep', () => '['.repeat(1000)],
  ])('%s', async (_, change) => {
    const answer = await client.post(newOrder, {}, inBody(change));
    expect(seen(answer)).toEqual([400, 'malformed']);
    // Not because the signature is one of other bytes.
    expect(answer.json.detail).not.toMatch(/is not one of the key/);
  });

  test.each([{ crit: ['b64'], b64: false }, { b64: false }, { crit: [] }, { crit: ['exp'] }, { crit: null }])(
    'extension %j',
    async (header) => {
      expect(await post({ header })).toEqual([400, 'malformed']);
    },
  );

  test('JWS-15: a member twice in the protected header or the payload', async () => {
    const twice = JSON.stringify({ alg: 'ES256', kid: client.kid, nonce: await client.nonce(), url: newOrder });
    const header = base64url(twice.replace('{', '{"alg":"ES384",'));
    expect(await post(inBody((jws) => ({ ...jws, protected: header })))).toEqual([400, 'malformed']);
    expect(await post({}, '{"note":"a","note":"b"}')).toEqual([400, 'malformed']);
  });
});

test.each([
  'none',
  'HS256',
  'HS384',
  'HS512',
  'RSA-OAEP',
  'PBES2-HS256+A128KW',
  'PS256',
  'ES256K',
  'es256',
  'constructor',
  '__proto__',
  '',
])('JWS-4: alg %j is refused with the list of those that are accepted', async (alg) => {
  const answer = await client.post(newOrder, {}, { header: { alg } });
  expect(seen(answer)).toEqual([400, 'badSignatureAlgorithm']);
  expect(answer.json.algorithms).toEqual(['ES256', 'ES384', 'ES512', 'EdDSA', 'RS256']);
});

test('JWS-4: a MAC made with the public key as its secret is refused', async () => {
  const header = { alg: 'HS256', kid: client.kid, nonce: await client.nonce(), url: newOrder };
  const encoded = { protected: base64url(JSON.stringify(header)), payload: base64url('{}') };
  const mac = createHmac('sha256', client.key.publicPem).update(`${encoded.protected}.${encoded.payload}`);
  expect(await post(inBody(() => ({ ...encoded, signature: mac.digest('base64url') })))).toEqual([
    400,
    'badSignatureAlgorithm',
  ]);
});

test.each(['ES384', 'ES512', 'RS256', 'EdDSA'])('JWS-6: %s with a P-256 key is malformed', async (alg) => {
  for (const answer of [
    await client.post(newOrder, {}, { header: { alg } }),
    await client.post(newAccount, {}, { withJwk: true, header: { alg } }),
  ]) {
    expect(seen(answer)).toEqual([400, 'malformed']);
    expect(answer.json.detail).toBe(`${alg} is not an algorithm for keys of this type.`);
  }
});

test('JWS-7: an ECDSA signature in DER, or one that lost a zero, is refused', async () => {
  const inDer = (jws: FlatJws) => sign('sha256', Buffer.from(`${jws.protected}.${jws.payload}`), client.key.privateKey);
  for (const change of [
    (jws: FlatJws) => inDer(jws).toString('base64url'),
    ({ signature }: FlatJws) => Buffer.from(signature, 'base64url').subarray(1).toString('base64url'),
    ({ signature }: FlatJws) =>
      Buffer.concat([Buffer.alloc(1), Buffer.from(signature, 'base64url')]).toString('base64url'),
    () => '',
  ])
    expect(await post(inBody((jws) => ({ ...jws, signature: change(jws) })))).toEqual([400, 'malformed']);
});

describe('JWS-8, JWS-9: which key is named', () => {
  test('both of jwk and kid, or none, is malformed', async () => {
    expect(await post({ header: { jwk: client.key.jwk } })).toEqual([400, 'malformed']);
    expect(await post({ header: { kid: undefined } })).toEqual([400, 'malformed']);
  });

  test('newAccount wants jwk, revokeCert takes both, all others want kid', async () => {
    const revokeCert = await client.url('revokeCert');
    expect(seen(await client.post(newAccount, {}))).toEqual([400, 'malformed']);
    expect(seen(await client.post(newOrder, {}, { withJwk: true }))).toEqual([400, 'malformed']);
    const { json } = await client.post(newAccount, { note: 'x' }, { withJwk: true });
    expect(json).toEqual({ thumbprint: client.key.thumbprint, payload: { note: 'x' } });
    expect((await client.post(revokeCert, {})).json).toEqual({ by: 'account' });
    expect((await client.post(revokeCert, {}, { withJwk: true })).json).toEqual({ by: 'key' });
  });
});

test.each<[string, (kid: string) => unknown]>([
  ['of another host', (kid) => kid.replace('acme.corp.example', 'evil.example')],
  ['of plain HTTP', (kid) => kid.replace('https:', 'http:')],
  ['with a port', (kid) => kid.replace('corp.example/', 'corp.example:443/')],
  ['with a slash at its end', (kid) => `${kid}/`],
  ['with a query', (kid) => `${kid}?`],
  ['that is relative', (kid) => new URL(kid).pathname],
  ['that is an id', (kid) => kid.split('/').at(-1)],
  ['in upper case', (kid) => kid.toUpperCase()],
  ['under an unknown slug', (kid) => kid.replace(/acme\/[^/]+\/account/, 'acme/none/account')],
  ['of nobody', (kid) => kid.replace(/acmk_.*/, 'acmk_01k5w3v8q2e7rbs9x4m6tfhz0j')],
  ['that is no text', () => 7],
  ['that is empty', () => ''],
])('JWS-10, JWS-11: a kid %s is that of no account', async (_, change) => {
  expect(await post({ header: { kid: change(client.kid) } })).toEqual([400, 'accountDoesNotExist']);
});

describe('JWS-12, JWS-13: the URL in the header', () => {
  test('is missing', async () => {
    expect(await post({ header: { url: undefined } })).toEqual([400, 'malformed']);
    expect(await post({ header: { url: 7 } })).toEqual([400, 'malformed']);
  });

  test.each<[string, (url: string) => string]>([
    ['another path', (url) => url.replace('new-order', 'new-account')],
    ['another directory', (url) => url.replace(/acme\/[^/]+/, 'acme/other')],
    ['another host', (url) => url.replace('acme.corp.example', 'evil.example')],
    ['another port', (url) => url.replace('corp.example/', 'corp.example:8443/')],
    ['plain HTTP', (url) => url.replace('https', 'http')],
    ['a query that was not sent', (url) => `${url}?a=b`],
  ])('names %s', async (_, change) => {
    expect(await post({ header: { url: change(newOrder) } })).toEqual([403, 'unauthorized']);
  });

  test('names port 443, and the query as it was sent', async () => {
    expect((await post({ header: { url: newOrder.replace('corp.example/', 'corp.example:443/') } }))[0]).toBe(201);
    const order = newOrder.replace('new-order', 'order/ordr_1?a=%20b&c');
    expect((await client.post(order)).json).toEqual({ id: 'ordr_1', query: 'a=+b&c=' });
    expect(seen(await client.post(order, '', { sendTo: order.replace('%20', '+') }))).toEqual([403, 'unauthorized']);
  });
});

describe('JWS-14: a key that is weak or of another type is a badPublicKey', () => {
  const ofKind = (kind: 'x25519' | 'ed448') =>
    (kind === 'x25519' ? generateKeyPairSync('x25519') : generateKeyPairSync('ed448')).publicKey.export({
      format: 'jwk',
    });
  const rsa = (modulusLength: number, publicExponent = 65_537) =>
    generateKeyPairSync('rsa', { modulusLength, publicExponent }).publicKey.export({ format: 'jwk' });
  const { x } = anAcmeKey().jwk;

  test.each<[string, unknown]>([
    ['RSA with 1024 bits', rsa(1024)],
    ['RSA with e = 3', rsa(2048, 3)],
    ['RSA with e = 1', { ...rsa(2048), e: 'AQ' }],
    ['RSA with an even e', { ...rsa(2048), e: 'AQAA' }],
    ['RSA of 60,000 bits', { kty: 'RSA', e: 'AQAB', n: 'f'.repeat(10_000) }],
    ['a point that is not on its curve', { kty: 'EC', crv: 'P-256', x, y: x }],
    ['the point at infinity', { kty: 'EC', crv: 'P-256', x: 'A'.repeat(43), y: 'A'.repeat(43) }],
    ['a short coordinate', { kty: 'EC', crv: 'P-256', x: 'AAAA', y: x }],
    ['another curve', { kty: 'EC', crv: 'secp256k1', x, y: x }],
    ['Ed448', ofKind('ed448')],
    ['X25519', ofKind('x25519')],
    ['a symmetric key', { kty: 'oct', k: 'AAAA' }],
    ['no kty', { crv: 'P-256', x, y: x }],
    ['an unknown kty', { kty: '__proto__' }],
    ['a private key', { ...anAcmeKey().jwk, d: 'AAAA' }],
    ['padded numbers', { kty: 'EC', crv: 'P-256', x: `${x}=`, y: x }],
    ['a list', []],
    ['a text', 'key'],
    ['null', null],
  ])('%s', async (_, jwk) => {
    const answer = await client.post(newAccount, {}, { withJwk: true, header: { jwk } });
    expect(seen(answer)).toEqual([400, 'badPublicKey']);
  });
});

test('JWS-16: names of every object are names like others', async () => {
  const own = JSON.stringify({ ...client.key.jwk });
  const jwk = JSON.parse(own.replace('{', '{"__proto__":{"d":"AAAA"},"constructor":{"prototype":{}},'));
  const { status, json } = await client.post(newAccount, '{"__proto__":{"note":7},"constructor":1}', {
    withJwk: true,
    header: { jwk },
  });
  expect([status, json.thumbprint]).toEqual([201, client.key.thumbprint]);
  expect('note' in {}).toBe(false);
});

test('JWS-17, JWS-22: only the key of the account signs, and before the payload is looked at', async () => {
  expect(await post({ key: anAcmeKey() })).toEqual([400, 'malformed']);
  const answer = await client.post(newOrder, 'no JSON', { key: anAcmeKey() });
  expect(answer.json.detail).toMatch(/signature/);
  expect(await post(inBody((jws) => ({ ...jws, payload: base64url('{"note":"other"}') })))).toEqual([400, 'malformed']);
});

test('JWS-17: a new key of the account binds its next request', async () => {
  const own = await acme.account();
  expect((await own.post(newOrder, {})).status).toBe(201);
  const key = anAcmeKey('ES384');
  await updateAcmeKey(acme.ca, admin, own.accountId, { public_key: key.publicPem });

  expect((await own.post(newOrder, {}, { key })).status).toBe(201);
  expect(seen(await own.post(newOrder, {}))).toEqual([400, 'malformed']);
});

test('JWS-18, JWS-20: leading zeros and the order of members do not change the thumbprint', async () => {
  const key = anAcmeKey('RS256');
  const { n = '', e = '' } = key.jwk;
  const jwk = { n: Buffer.concat([Buffer.alloc(1), Buffer.from(n, 'base64url')]).toString('base64url'), kty: 'RSA', e };
  const { json } = await client.post(newAccount, {}, { key, withJwk: true, header: { jwk } });
  expect(json.thumbprint).toBe(key.thumbprint);
});

test('JWS-19: other members of a key are ignored, but an alg that is not the one of the header', async () => {
  const more = { use: 'sig', key_ops: ['verify'], kid: 'x', x5c: ['AAAA'], alg: 'ES256' };
  const withJwk = (jwk: object) => client.post(newAccount, {}, { withJwk: true, header: { jwk } });
  expect((await withJwk({ ...client.key.jwk, ...more })).status).toBe(201);
  expect(seen(await withJwk({ ...client.key.jwk, alg: 'ES384' }))).toEqual([400, 'malformed']);
});

test('JWS-21: an Ed25519 signature whose S is above the order of the group is refused', async () => {
  const own = await acme.account({ alg: 'EdDSA' });
  const order = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n;
  const answer = await own.post(
    newOrder,
    {},
    {
      body: (jws) => {
        const bytes = Buffer.from(jws.signature, 'base64url');
        const s = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`) + order;
        Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse().copy(bytes, 32);
        return { ...jws, signature: bytes.toString('base64url') };
      },
    },
  );
  expect(seen(answer)).toEqual([400, 'malformed']);
});

test('JWS-23: members that are not known are ignored', async () => {
  const answer = await client.post(newOrder, { resource: 'new-order', keyAuthorization: 'x.y', note: 'x' });
  expect(answer.status).toBe(201);
});

describe('HTTP-7: the payload', () => {
  const at = (path: string) => newOrder.replace('new-order', path);

  test('of POST-as-GET is the empty string, and nothing else', async () => {
    expect((await client.post(at('order/ordr_1'))).status).toBe(200);
    for (const payload of ['{}', 'null', '""'])
      expect(seen(await client.post(at('order/ordr_1'), payload))).toEqual([400, 'malformed']);
  });

  test('may be empty only where reading is meant, too', async () => {
    expect((await client.post(at('account/x'))).json).toEqual({ isRead: true });
    expect((await client.post(at('account/x'), {})).json).toEqual({ isRead: false });
    expect(seen(await client.post(newOrder))).toEqual([400, 'malformed']);
  });

  test.each(['null', '[]', '7', '"text"', '{', '{"note":7}'])('%s is malformed', async (payload) => {
    expect(await post({}, payload)).toEqual([400, 'malformed']);
  });
});

test('ACC-11: an account that has ended is told so with 401', async () => {
  const own = await acme.account();
  expect((await own.post(newOrder, {})).status).toBe(201);
  await revokeAcmeKey(acme.ca, admin, own.accountId);
  expect(seen(await own.post(newOrder, {}))).toEqual([401, 'unauthorized']);
});

test('an account notes the day of its last use, without being waited for', async () => {
  const own = await acme.account();
  const usedOn = () =>
    acme.ca.database.db.selectFrom('acme_keys').select('used_on').where('id', '=', own.accountId).executeTakeFirst();
  expect(await usedOn()).toEqual({ used_on: null });
  await own.post(newOrder, {});
  await expect.poll(usedOn).toEqual({ used_on: '2026-05-17' });
});
