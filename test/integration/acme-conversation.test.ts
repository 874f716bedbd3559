// All that a client is ever sent, from the directory to its last refusal, held against the rules that every reply keeps.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { certIdText } from '../../src/core/cert-id.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { type TestAcme, testAcme } from '../support/acme.ts';
import { type AcmeAnswer, type AcmeClient, anAcmeKey, signedJws } from '../support/acme-client.ts';
import { eventually } from '../support/eventually.ts';
import { aRequest, dns } from '../support/given-ready-order.ts';

const URN = /^urn:ietf:params:acme:error:[a-zA-Z]+$/;
const HOST = 'https://acme.corp.example/';
const KNOWN = 'known.corp.example';

type Heard = { readonly asked: string; readonly method: string; readonly path: string; readonly answer: AcmeAnswer };

let acme: TestAcme;
const heard: Heard[] = [];

beforeAll(async () => {
  acme = await testAcme({
    directory: {
      slug: 'web',
      allowed_dns_identifiers: ['**.corp.example'],
      terms_of_service: 'https://corp.example/terms',
      website: 'https://corp.example',
    },
    prober: async () => ({ outcome: 'valid' }),
    caa: async (name) => name.split('.').map((_, at, labels) => ({ name: labels.slice(at).join('.'), records: [] })),
    withWorker: true,
  });
  await talk();
});
afterAll(() => acme[Symbol.asyncDispose]());

/** A client whose every answer is kept. */
function listenedTo(client: AcmeClient): AcmeClient {
  const send = client.send.bind(client);
  client.send = async (method, url, options) => {
    const answer = await send(method, url, options);
    heard.push({ asked: `${method} ${url}: ${answer.status}`, method, path: new URL(url).pathname, answer });
    return answer;
  };
  return client;
}

async function talk(): Promise<void> {
  const client = listenedTo(acme.client());
  await client.send('HEAD', await client.url('newNonce'));
  await client.get(await client.url('newNonce'));
  expect((await client.register({ contact: ['mailto:ops@corp.example'] })).status).toBe(201);
  expect((await client.register()).status).toBe(200);
  await client.post(client.kid ?? '');
  await client.post(client.kid ?? '', { contact: [] });

  const certificate = await certified(client);
  await refused(client, certificate);
  await client.post(await client.url('revokeCert'), { certificate, reason: 4 });
  const { key } = client;
  const next = anAcmeKey('ES384');
  const keyChange = await client.url('keyChange');
  const payload = { account: client.kid, oldKey: key.jwk };
  const inner = signedJws(next, { alg: next.alg, jwk: next.jwk, url: keyChange }, payload);
  expect((await client.post(keyChange, inner)).status).toBe(200);
  expect((await client.post(client.kid ?? '', { status: 'deactivated' }, { key: next })).status).toBe(200);
  expect((await client.post(client.kid ?? '', '', { key: next })).status).toBe(401);
}

/** From the order to the certificate, which is returned as revokeCert takes it. */
async function certified(client: AcmeClient): Promise<string> {
  const { json: order, headers } = await client.newOrder([KNOWN], { notAfter: '2026-06-17T12:00:00Z' });
  const [authorization] = order.authorizations;
  const { challenges } = (await client.post(authorization)).json;
  await client.post(challenges[0].url);
  await client.post(challenges[0].url, {});
  const isReady = async () => (await client.post(headers.location ?? '')).json.status === 'ready';
  await eventually('the order is ready', isReady);
  await client.post(authorization);
  await client.post(challenges[0].url);
  const done = await client.finalize(order, await aRequest({ names: [dns(KNOWN)] }));
  expect(done.json.status).toBe('valid');
  await client.post(headers.location ?? '');
  await client.post(done.json.certificate);
  const { bytes } = await client.post(done.json.certificate, '', { headers: { Accept: 'application/pkix-cert' } });
  const { serial, extensions } = parseCertificate(bytes);
  const keyIdentifier = extensions.authorityKeyIdentifier ?? expect.fail('it has no AKI');
  await client.get(`${await client.url('renewalInfo')}/${certIdText({ keyIdentifier, serial })}`);
  await client.post(`${client.kid}/orders`);

  const given = await client.post(await client.url('newAuthz'), {
    identifier: { type: 'dns', value: 'b.corp.example' },
  });
  const up = await client.newOrder(['c.corp.example']);
  await client.post(up.json.authorizations[0], { status: 'deactivated' });
  expect((await client.post(up.headers.location ?? '')).json.status).toBe('invalid');
  expect(given.status).toBe(201);
  return bytes.toString('base64url');
}

async function refused(client: AcmeClient, certificate: string): Promise<void> {
  const newOrder = await client.url('newOrder');
  const { json: open } = await client.newOrder(['d.corp.example']);
  const answers = [
    await client.get(`${HOST}acme/web/nothing`),
    await client.get(`${HOST}acme/none/directory`),
    await client.get(`${HOST}nothing`),
    await client.get(newOrder),
    await client.send('DELETE', newOrder),
    await client.get(`${await client.url('renewalInfo')}/x`),
    await client.get(`${await client.url('renewalInfo')}/AA.AQ`),
    await client.post(newOrder, {}, { contentType: 'text/plain' }),
    await client.post(newOrder, { note: 'x'.repeat(70_000) }),
    await client.post(newOrder, {}, { body: () => '{' }),
    await client.post(newOrder, {}, { nonce: 'AAAA' }),
    await client.post(newOrder, {}, { header: { alg: 'none' } }),
    await client.post(newOrder, {}, { header: { url: HOST } }),
    await client.post(newOrder, {}, { kid: `${client.kid}x` }),
    await client.post(newOrder, {}, { key: anAcmeKey() }),
    await client.post(newOrder, { identifiers: [] }),
    await client.newOrder(['a.example.org', '*.example.org', '192.0.2.7']),
    await client.newOrder(['a..corp.example']),
    await client.newOrder([KNOWN], { notAfter: '2126-06-17T12:00:00Z' }),
    await client.newOrder([KNOWN], { profile: 'other' }),
    await client.finalize(open, await aRequest({ names: [dns('d.corp.example')] })),
    await client.post(`${HOST}acme/web/order/ordr_1`),
    await client.post(await client.url('revokeCert'), { certificate, reason: 9 }),
    await client.post(await client.url('newAccount'), {}, { withJwk: true, key: anAcmeKey() }),
    await client.post(await client.url('keyChange'), {}),
  ];
  for (const { status } of answers) expect(status).toBeGreaterThanOrEqual(400);
}

const documents = () =>
  heard.flatMap(({ asked, answer }) => (answer.json === undefined ? [] : [{ asked, answer, json: answer.json }]));
const refusals = () => heard.filter(({ answer }) => answer.status >= 400);

/** Every value in a document with the names on the way to it. */
function* valuesIn(value: unknown, path: readonly string[] = []): Generator<readonly [string, unknown]> {
  yield [path.join('.'), value];
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) yield* valuesIn(member, [...path, name]);
}
const allValues = () => documents().flatMap(({ asked, json }) => [...valuesIn(json)].map((pair) => [asked, ...pair]));

test('HTTP-2: JSON is application/json where it is good, and a problem where it is not', () => {
  expect(documents().length).toBeGreaterThan(40);
  for (const { asked, answer } of documents())
    expect(answer.headers['content-type'], asked).toBe(
      answer.status < 400 ? 'application/json' : 'application/problem+json',
    );
});

test('G-22, G-30, NON-3, ERR-1: every refusal is a problem of an ACME type, with a nonce', () => {
  expect(refusals().length).toBeGreaterThan(25);
  for (const { asked, answer } of refusals()) {
    expect(answer.headers['content-type'], asked).toBe('application/problem+json');
    expect(answer.headers['content-language'], asked).toBe('en');
    expect(answer.json, asked).toMatchObject({
      type: expect.stringMatching(URN),
      detail: expect.stringMatching(/^[^\r\n]+\.$/),
      status: answer.status,
    });
  }
});

test('NON-4: every reply but what caches keep has one nonce, in base64url', () => {
  for (const { asked, path, answer } of heard) {
    if (path.includes('/renewal-info/') && answer.status === 200) continue;
    expect(answer.all('replay-nonce'), asked).toEqual([expect.stringMatching(/^[A-Za-z0-9_-]+$/)]);
  }
});

test('HTTP-15, HTTP-16, G-7: no member is null or an empty object, and all is compact in one line', () => {
  for (const [asked, path, value] of allValues()) {
    expect(value, `${asked} ${path}`).not.toBeNull();
    expect(value, `${asked} ${path}`).not.toEqual({});
  }
  for (const { asked, answer, json } of documents()) expect(answer.text, asked).toBe(JSON.stringify(json));
});

test('HTTP-17: every time is in UTC and whole seconds', () => {
  const times = allValues().filter(([, path]) =>
    /(^|\.)(expires|validated|notBefore|notAfter|start|end)$/.test(String(path)),
  );
  expect(times.length).toBeGreaterThan(10);
  for (const [asked, path, value] of times)
    expect(value, `${asked} ${path}`).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
});

test('SEC-28, G-21: every URL is absolute and ours, and every token base64url', () => {
  const named = (names: RegExp) => allValues().filter(([, path]) => names.test(String(path)));
  const urls = named(
    /(^|\.)(url|orders|orders\.\d+|finalize|certificate|authorizations\.\d+|new\w+|\w+Cert|keyChange|renewalInfo)$/,
  );
  const own = urls.filter(([, , value]) => typeof value === 'string');
  expect(own.length).toBeGreaterThan(40);
  for (const [asked, path, value] of own)
    expect(value, `${asked} ${path}`).toMatch(/^https:\/\/acme\.corp\.example\/acme\/web\/[a-z0-9_/-]+$/);
  const tokens = named(/\.token$|^token$/);
  expect(tokens.length).toBeGreaterThan(10);
  for (const [asked, path, value] of tokens) expect(value, `${asked} ${path}`).toMatch(/^[A-Za-z0-9_-]{22,}$/);
  for (const { asked, answer } of heard) {
    for (const location of answer.all('location'))
      expect(location, asked).toMatch(/^https:\/\/acme\.corp\.example\/acme\/web\//);
    for (const link of answer.all('link')) expect(link, asked).toMatch(/^<https?:\/\/[^<>\s]+>;rel="[a-z-]+"$/);
  }
  expect(heard[0]?.answer.json.meta.termsOfService).toBe('https://corp.example/terms');
});

test('HTTP-10: every reply under a directory but the directory itself links to it', () => {
  for (const { asked, path, answer } of heard) {
    const [, slug = '', rest] = /^\/acme\/([^/]+)\/(.*)$/.exec(path) ?? [];
    if (slug === '') continue;
    const isIndex = answer.all('link').includes(`<${HOST}acme/${slug}/directory>;rel="index"`);
    expect(isIndex, asked).toBe(rest !== 'directory');
  }
});

test('G-13: every header is of printable ASCII, in one line', () => {
  for (const { asked, answer } of heard)
    for (const [name, value] of Object.entries(answer.headers))
      expect(value, `${asked} ${name}`).toMatch(/^[\x20-\x7e]*$/);
});

test('G-12: Retry-After is a small whole number, and stands only where something is under way or read again later', () => {
  const told = heard.filter(({ answer }) => answer.headers['retry-after'] !== undefined);
  expect(told.length).toBeGreaterThan(0);
  for (const { asked, path, answer } of told) {
    expect(answer.headers['retry-after'], asked).toMatch(/^[1-9]\d{0,4}$/);
    if (path.includes('/renewal-info/')) continue;
    expect(Number(answer.headers['retry-after']), asked).toBeLessThanOrEqual(3);
    expect(['pending', 'processing'], asked).toContain(answer.json.status);
  }
});
