// Anti-replay nonces over HTTPS: given freely, spent once, on whatever replica.
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sweepNonces } from '../../src/core/nonces.ts';
import { type TestAcme, testAcme } from '../support/acme.ts';
import { type AcmeAnswer, type AcmeClient, anAcmeKey } from '../support/acme-client.ts';
import { sampleAcmeRoutes } from '../support/sample-acme-routes.ts';

test('NON-1, NON-2: a nonce is given to HEAD with 200 and to GET with 204, and kept by no cache', async () => {
  await using acme = await testAcme();
  const client = acme.client();
  const url = await client.url('newNonce');

  for (const [method, status] of [
    ['HEAD', 200],
    ['GET', 204],
  ] as const) {
    const answer = await client.send(method, url);
    expect([answer.status, answer.text, answer.headers['cache-control']]).toEqual([status, '', 'no-store']);
    expect(answer.all('replay-nonce')).toEqual([expect.stringMatching(/^[A-Za-z0-9_-]{38}$/)]);
  }
});

test('HTTP-6: POST-as-GET reads the directory and gives nonces', async () => {
  await using acme = await testAcme();
  const client = await acme.account();

  const directory = await client.post(client.target.directoryUrl);
  expect([directory.status, directory.json]).toEqual([200, await client.directory()]);
  const nonce = await client.post(await client.url('newNonce'));
  expect([nonce.status, nonce.text]).toEqual([200, '']);
  expect(nonce.all('replay-nonce')).toHaveLength(1);
});

describe('a signed request', () => {
  let acme: TestAcme;
  let client: AcmeClient;
  let newOrder: string;

  beforeAll(async () => {
    acme = await testAcme({ routes: sampleAcmeRoutes });
    client = await acme.account();
    newOrder = await client.url('newOrder');
  });
  afterAll(() => acme[Symbol.asyncDispose]());

  const expectBadNonce = (answer: AcmeAnswer) => {
    expect([answer.status, answer.json?.type]).toEqual([400, 'urn:ietf:params:acme:error:badNonce']);
    expect(answer.json.detail).toContain('JWS has an invalid anti-replay nonce');
  };

  test('NON-3, NON-4: gets one fresh nonce with every reply', async () => {
    const base = newOrder.replace('/new-order', '');
    const answers = [
      await client.post(newOrder, {}),
      await client.post(newOrder, { note: 1 }),
      await client.post(newOrder, { note: 'bug' }),
      await client.post(`${base}/nothing`, {}),
      await client.post(newOrder, {}, { contentType: 'text/plain' }),
      await client.post(`${base}/directory`, {}),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 400, 500, 404, 415, 400]);
    const nonces = answers.flatMap((answer) => answer.all('replay-nonce'));
    expect(new Set(nonces).size).toBe(answers.length);
    expect(nonces.join('')).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  test('NON-5: with the nonce of others that come at the same time succeeds once', async () => {
    const nonce = await client.nonce();
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.post(newOrder, {}, { nonce })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) expectBadNonce(answer);
  });

  test.each([
    ['a wrong signature', { key: anAcmeKey() }],
    ['an unknown account', { kid: 'https://acme.corp.example/acme/web/account/acmk_01k5w3v8q2e7rbs9x4m6tfhz0j' }],
  ])('NON-6: spends its nonce although it fails by %s', async (_, sent) => {
    const nonce = await client.nonce();
    expect((await client.post(newOrder, {}, { nonce, ...sent })).json.type).not.toMatch(/badNonce/);
    expectBadNonce(await client.post(newOrder, {}, { nonce }));
  });

  test('NON-6: spends its nonce although its payload is wrong', async () => {
    const nonce = await client.nonce();
    expect((await client.post(newOrder, { note: 1 }, { nonce })).json.type).toMatch(/malformed/);
    expectBadNonce(await client.post(newOrder, {}, { nonce }));
  });

  test.each([
    ['missing', { header: { nonce: undefined } }],
    ['unknown', { nonce: 'A'.repeat(38) }],
    ['of another length', { nonce: 'abcd' }],
    ['empty', { nonce: 'A' }],
  ])('NON-7, NON-9, G-1: with a nonce that is %s gets one that works', async (_, sent) => {
    const refused = await client.post(newOrder, {}, sent);
    expectBadNonce(refused);
    const nonce = refused.headers['replay-nonce'] ?? '';
    expect((await client.post(newOrder, {}, { nonce })).status).toBe(201);
  });

  test.each(['', 'a+b/c=', 'a b', 'äöü', 7, null, ['x']])('NON-8: with the nonce %j is malformed', async (nonce) => {
    const answer = await client.post(newOrder, {}, { header: { nonce } });
    expect([answer.status, answer.json.type]).toEqual([400, 'urn:ietf:params:acme:error:malformed']);
    expect(answer.all('replay-nonce')).toHaveLength(1);
  });

  test('NON-14: may have any Replay-Nonce header of its own', async () => {
    expect((await client.post(newOrder, {}, { headers: { 'Replay-Nonce': '???' } })).status).toBe(201);
  });
});

test('NON-12: a nonce is good for an hour, and no longer', async () => {
  await using acme = await testAcme({ routes: sampleAcmeRoutes });
  const client = await acme.account();
  const newOrder = await client.url('newOrder');
  const [first, second] = [await client.nonce(), await client.nonce()];

  acme.ca.clock.advance(3_600_000);
  expect((await client.post(newOrder, {}, { nonce: first })).status).toBe(201);
  acme.ca.clock.advance(1_000);
  expect((await client.post(newOrder, {}, { nonce: second })).json.type).toMatch(/badNonce/);
});

test('NON-10: a nonce of one replica is spent on another, once for both', async () => {
  await using one = await testAcme({ routes: sampleAcmeRoutes });
  await using two = await testAcme({ routes: sampleAcmeRoutes, beside: one });
  const client = await one.account();
  const onTwo = two.client({ key: client.key, kid: client.kid });
  const newOrder = await client.url('newOrder');

  const statuses = [];
  for (let round = 0; round < 5; round++) {
    const nonce = await client.nonce();
    const answers = [client.post(newOrder, {}, { nonce }), onTwo.post(newOrder, {}, { nonce })];
    statuses.push(...(await Promise.all(answers)).map(({ status }) => status).toSorted());
  }
  expect(statuses).toEqual(Array.from({ length: 5 }, () => [201, 400]).flat());
});

test('NON-10, G-25: with the key lost, every client needs one retry on each replica at most', async () => {
  await using one = await testAcme({ routes: sampleAcmeRoutes });
  await using two = await testAcme({ routes: sampleAcmeRoutes, beside: one });
  const client = await one.account();
  const onTwo = two.client({ key: client.key, kid: client.kid });
  const newOrder = await client.url('newOrder');
  const old = await client.nonce();
  const spent = await client.nonce();
  expect((await client.post(newOrder, {}, { nonce: spent })).status).toBe(201);
  // What a crash of the database does to unlogged tables.
  await sql`truncate nonce_keys, spent_nonces`.execute(one.ca.database.db);

  const refused = await client.post(newOrder, {}, { nonce: old });
  expect(refused.json.type).toMatch(/badNonce/);
  expect((await client.post(newOrder, {}, { nonce: spent })).json.type).toMatch(/badNonce/);
  const fresh = refused.headers['replay-nonce'] ?? '';
  // The other replica has not heard of the new key yet.
  expect((await onTwo.post(newOrder, {}, { nonce: fresh })).status).toBe(201);
  expect((await client.post(newOrder, {}, { nonce: await onTwo.nonce() })).status).toBe(201);
});

test('NON-13: of a nonce nothing can be foretold, and no bit of it changed', async () => {
  await using acme = await testAcme({ routes: sampleAcmeRoutes });
  const client = await acme.account();
  const nonces = [];
  for (let count = 0; count < 40; count++)
    nonces.push((await client.get(await client.url('newNonce'))).headers['replay-nonce']);
  const bytes = nonces.map((nonce) => Buffer.from(nonce ?? '', 'base64url'));
  // All but the time in front, in which the clock stands still.
  for (let bit = 32; bit < 28 * 8; bit++)
    expect(new Set(bytes.map((one) => (one.readUInt8(bit >> 3) >> (bit & 7)) & 1)).size).toBe(2);

  for (const at of [0, 3, 4, 11, 12, 27]) {
    const forged = Buffer.from(bytes[0] ?? []);
    forged.writeUInt8(forged.readUInt8(at) ^ 1, at);
    const answer = await client.post(await client.url('newOrder'), {}, { nonce: forged.toString('base64url') });
    expect(answer.json.type).toMatch(/badNonce$/);
  }
});

test('NON-11: giving nonces away stores nothing, and what was spent is forgotten when its time is over', async () => {
  await using acme = await testAcme({ routes: sampleAcmeRoutes });
  const client = await acme.account();
  const newOrder = await client.url('newOrder');
  const url = await client.url('newNonce');
  const spent = async () => (await acme.ca.database.db.selectFrom('spent_nonces').selectAll().execute()).length;

  await Promise.all(Array.from({ length: 50 }, () => client.send('HEAD', url)));
  expect(await spent()).toBe(0);
  await client.post(newOrder, {});
  acme.ca.clock.advance(3_600_000);
  await sweepNonces(acme.ca);
  expect(await spent()).toBe(1);
  acme.ca.clock.advance(3_601_000);
  await sweepNonces(acme.ca);
  expect(await spent()).toBe(0);
});
