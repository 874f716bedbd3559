// The ACME door over HTTPS: what it answers to requests that are wrong before anybody looks at who signed them.
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestAcme, testAcme } from '../support/acme.ts';
import type { AcmeAnswer, AcmeClient } from '../support/acme-client.ts';
import { sampleAcmeRoutes } from '../support/sample-acme-routes.ts';

const MALFORMED = 'urn:ietf:params:acme:error:malformed';

let acme: TestAcme;
let client: AcmeClient;
let base: string;

beforeAll(async () => {
  acme = await testAcme({ routes: sampleAcmeRoutes });
  client = await acme.account();
  base = client.target.directoryUrl.replace(/\/directory$/, '');
});
afterAll(() => acme[Symbol.asyncDispose]());

/** What every refusal has. */
function expectProblem(answer: AcmeAnswer, status: number, type = MALFORMED): void {
  expect(answer.json).toMatchObject({ status, type, detail: expect.stringMatching(/\.$/) });
  expect(answer.status).toBe(status);
  expect(answer.headers['content-type']).toBe('application/problem+json');
  expect(answer.headers['content-language']).toBe('en');
  expect(answer.all('replay-nonce')).toHaveLength(1);
}

test('HTTP-1: plain HTTP is refused in words', async () => {
  const status = await new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port: acme.port, path: '/acme/web/directory' }, (reply) => {
      reply.resume().on('end', () => resolve([reply.statusCode, reply.headers['content-type']]));
    })
      .on('error', reject)
      .end();
  });
  expect(status).toEqual([400, 'application/problem+json']);
});

describe('HTTP-4: the media type of a POST', () => {
  test.each(['application/json', 'application/jose', 'text/plain', ''])(
    '%s is refused with 415',
    async (contentType) => {
      expectProblem(await client.post(`${base}/new-order`, {}, { contentType }), 415);
    },
  );

  test.each(['application/jose+json; charset=utf-8', 'Application/JOSE+JSON'])('%s is good', async (contentType) => {
    expect(await client.post(`${base}/new-order`, {}, { contentType })).toMatchObject({ status: 201 });
  });
});

test('HTTP-5: what is signed is not read by GET', async () => {
  for (const path of ['/new-order', '/order/ordr_1', '/revoke-cert']) {
    const answer = await client.get(base + path);
    expectProblem(answer, 405);
    expect(answer.headers.allow).toBe('POST, OPTIONS');
  }
});

test('HTTP-8: HEAD is answered wherever GET is', async () => {
  const answer = await client.send('HEAD', `${base}/directory`);
  expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([200, '', 'application/json']);
});

test('HTTP-9: pages of other origins may ask, and see what they need', async () => {
  const answer = await client.send('OPTIONS', `${base}/new-order`, {
    headers: { Origin: 'https://page.example', 'Access-Control-Request-Method': 'POST' },
  });
  expect(answer.status).toBe(204);
  expect(answer.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'POST, OPTIONS',
    'access-control-allow-headers': 'Content-Type',
  });
  const read = await client.get(`${base}/directory`, { Origin: 'https://page.example' });
  expect(read.headers['access-control-expose-headers']).toBe('Link, Replay-Nonce, Location, Retry-After');
});

test('HTTP-10: every reply links to the directory, beside its own links, and the directory does not', async () => {
  const index = `<${client.target.directoryUrl}>;rel="index"`;
  const read = await client.post(`${base}/order/ordr_1`);
  expect(read.all('link')).toEqual([index, '<https://elsewhere.example/>;rel="alternate"']);
  expect((await client.get(`${base}/nothing`)).headers.link).toBe(index);
  expect((await client.get(`${base}/directory`)).headers.link).toBeUndefined();
});

test('HTTP-11: a body over 64 KiB is refused', async () => {
  expectProblem(await client.post(`${base}/new-order`, { note: 'x'.repeat(65_536) }), 413);
});

test('HTTP-12: a refusal leaves the connection open', async () => {
  const refused = await client.post(`${base}/new-order`, {}, { header: { alg: 'none' } });
  expect([refused.status, refused.headers.connection]).toEqual([400, 'keep-alive']);
});

test('HTTP-13: a problem is in English, whatever language is asked for', async () => {
  const asked = { 'Accept-Language': 'de, fr;q=0.5' };
  const answer = await client.get(`${base}/nothing`, asked);
  expectProblem(answer, 404);
  expect(answer.text).toBe((await client.get(`${base}/nothing`)).text);
  expectProblem(await client.post(`${base}/new-order`, { note: 7 }, { headers: asked }), 400);
});

test('HTTP-14: an unknown path is a problem with a nonce', async () => {
  for (const path of ['/', '/nothing', '/directory/more']) expectProblem(await client.get(base + path), 404);
  const atRoot = await client.get('https://acme.corp.example/');
  expectProblem(atRoot, 404);
  expect(atRoot.json).toMatchObject({ detail: expect.stringContaining('/acme/<slug>/directory.') });
  expectProblem(await client.get('https://acme.corp.example/acme/'), 404);
});

test('HTTP-14: an unknown directory is a problem with a nonce, for every kind of request', async () => {
  for (const slug of ['none', 'NONE', '%00', 'a'.repeat(200)]) {
    const unknown = `https://acme.corp.example/acme/${slug}`;
    expectProblem(await client.get(`${unknown}/directory`), 404);
    expectProblem(await client.post(`${unknown}/new-order`, {}, { header: { url: `${unknown}/new-order` } }), 404);
  }
});

test('HTTP-16, HTTP-15: JSON is one line without null', async () => {
  const { text, headers } = await client.get(`${base}/directory`);
  expect(text).not.toMatch(/[\r\n\ufeff]|null|": /);
  expect(headers['content-type']).toBe('application/json');
});

test('HTTP-18: Host and X-Forwarded-Host change nothing', async () => {
  const usual = await client.get(`${base}/directory`);
  const spoofed = await client.get(`${base}/directory`, { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' });
  expect(spoofed.text).toBe(usual.text);
  const signed = await client.post(`${base}/new-order`, {}, { headers: { Host: 'evil.example' } });
  expect(signed.json).toMatchObject({ url: `${base}/new-order` });
});

test('SEC-5: the path of challenges is a path like others here, for whatever token', async () => {
  await using guarded = await testAcme({ limitRequests: { count: 2, perMs: 3_600_000 } });
  const own = guarded.client();
  const path = 'https://acme.corp.example/.well-known/acme-challenge/';
  expectProblem(await own.get(`${path}evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA`), 404);
  expectProblem(await own.get(path), 404);
  expectProblem(await own.get(`${path}x`), 429, 'urn:ietf:params:acme:error:rateLimited');
});

test('ERR-4: what nobody expected is a problem with the request id and nothing else of it', async () => {
  const answer = await client.post(`${base}/new-order`, { note: 'bug' });
  expectProblem(answer, 500, 'urn:ietf:params:acme:error:serverInternal');
  expect(answer.json.requestId).toBe(answer.headers['x-request-id']);
  expect(answer.text).not.toMatch(/swordfish|\.ts/);
});
