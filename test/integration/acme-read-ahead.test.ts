// What is asked for is read while the request is being verified: who is refused learns nothing of it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signedRoute } from '../../src/acme/route.ts';
import { formatId, newUuid } from '../../src/core/ids.ts';
import { acmePaths } from '../../src/core/urls.ts';
import { Type } from '../../src/schema/define.ts';
import { type TestAcme, testAcme } from '../support/acme.ts';
import { type AcmeClient, anAcmeKey } from '../support/acme-client.ts';
import { aRequest } from '../support/given-ready-order.ts';
import { sampleAcmeRoutes } from '../support/sample-acme-routes.ts';

let acme: TestAcme;
beforeAll(async () => {
  acme = await testAcme();
});
afterAll(() => acme[Symbol.asyncDispose]());

/** URLs of an order with its certificate, and for each the same URL of what never was. */
async function issued(owner: AcmeClient) {
  const order = await owner.newOrder(['shop.corp.example']);
  const { json } = await owner.finalize(order.json, await aRequest());
  const never = newUuid(acme.ca.clock.now());
  const beside = (url: string, prefix: 'ordr' | 'authz' | 'icrt') =>
    [url, url.replace(new RegExp(`${prefix}_\\w+`), formatId(prefix, never))] as const;
  return [
    beside(order.headers.location ?? '', 'ordr'),
    beside(json.finalize, 'ordr'),
    beside(json.authorizations[0], 'authz'),
    beside(json.certificate, 'icrt'),
  ];
}

test('ACC-13, JWS-22: a wrong signature or a spent nonce is answered alike for what is there and what never was', async () => {
  const owner = await acme.account({ orderValidations: 'auto_approve' });
  const { kid } = owner;
  using stranger = acme.client();
  const spent = await owner.nonce();
  await owner.post(kid, '', { nonce: spent });
  const attempts = [{ kid, key: anAcmeKey() }, { kid, nonce: spent, key: owner.key }, { withJwk: true }];

  for (const [there, never] of await issued(owner)) {
    const payload = there.endsWith('/finalize') ? { csr: 'MAA' } : '';
    for (const sent of attempts) {
      const [one, other] = [await stranger.post(there, payload, sent), await stranger.post(never, payload, sent)];
      expect(one.status).toBe(400);
      expect([other.status, other.text]).toEqual([one.status, one.text]);
    }
  }
});

test('a read that fails is told to who waits for it, and harms nobody else', async () => {
  const failing = signedRoute({
    path: acmePaths.order,
    signer: 'account',
    ahead: () => Promise.reject(new Error('the password is swordfish')),
    handle: async ({ ahead }) => ({ status: 200, json: { found: await ahead } }),
  });
  const routes = sampleAcmeRoutes.map((row) => (row.path === acmePaths.order ? failing : row));
  await using other = await testAcme({ routes });
  const client = await other.account();
  const url = client.kid.replace(/account\/.*/, `order/${formatId('ordr', newUuid(new Date(0)))}`);

  expect(await client.post(url, '', { key: anAcmeKey() })).toMatchObject({ status: 400 });
  const answer = await client.post(url);
  expect(answer.status).toBe(500);
  expect(answer.text).not.toContain('swordfish');
});

test('JWS-14: who offers a key that is not accepted hears first of his directory and his nonce', async () => {
  using client = acme.client();
  const newAccount = await client.url('newAccount');
  const header = { jwk: { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' } };
  const spent = await client.nonce();
  expect((await client.post(newAccount, {}, { withJwk: true, nonce: spent })).status).toBe(201);
  const typeOf = async (url: string, nonce?: string) => {
    const { status, json } = await client.post(url, {}, { withJwk: true, header, ...(nonce && { nonce }) });
    return [status, json.type.replace(/.*:/, '')];
  };

  expect(await typeOf(newAccount)).toEqual([400, 'badPublicKey']);
  expect(await typeOf(newAccount, spent)).toEqual([400, 'badNonce']);
  const elsewhere = newAccount.replace(`/${acme.directory.fields.slug}/`, '/nowhere/');
  expect(await typeOf(elsewhere)).toEqual([404, 'malformed']);
});

test('a read for a new account that fails harms nobody but who waits for it', async () => {
  const failing = signedRoute({
    path: acmePaths.newAccount,
    signer: 'newKey',
    json: Type.Object({}),
    ahead: () => Promise.reject(new Error('the password is swordfish')),
    handle: async ({ ahead }) => ({ status: 200, json: { found: await ahead } }),
  });
  const routes = sampleAcmeRoutes.map((row) => (row.path === acmePaths.newAccount ? failing : row));
  await using other = await testAcme({ routes });
  using client = other.client();
  const url = await client.url('newAccount');
  const spent = await client.nonce();

  const answers = [
    await client.post(url, {}, { withJwk: true, nonce: spent }),
    await client.post(url, {}, { withJwk: true, nonce: spent }),
  ];

  expect(answers.map(({ status }) => status)).toEqual([500, 400]);
  expect(answers.map(({ text }) => text).join()).not.toContain('swordfish');
});
