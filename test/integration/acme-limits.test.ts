// Limits over HTTPS: what a client that asks for too much is told, and that it can go on later.
import { expect, test } from 'vitest';
import { claimChallenges, validateChallenge } from '../../src/core/validate-challenge.ts';
import { type TestAcme, testAcme } from '../support/acme.ts';
import type { AcmeAnswer } from '../support/acme-client.ts';

const HOUR_MS = 3_600_000;
const perHour = (count: number) => ({ count, perMs: HOUR_MS });
const off = { orders: 'off', accounts: 'off', failures: 'off' } as const;
const directory = { allowed_dns_identifiers: ['**.corp.example'] };

/** As ERR-9 has it; a POST that is refused has a nonce all the same (NON-3). */
function expectLimited({ json, headers, all }: AcmeAnswer, retryAfter: string, detail: RegExp): void {
  expect(json).toEqual({
    type: 'urn:ietf:params:acme:error:rateLimited',
    detail: expect.stringMatching(detail),
    status: 429,
  });
  expect(headers['content-type']).toBe('application/problem+json');
  expect(headers['retry-after']).toBe(retryAfter);
  expect(all('replay-nonce')).toHaveLength(1);
}

test('ORD-28: orders beyond the limit are told when the next can be made, and made then', async () => {
  await using acme = await testAcme({ directory, limits: { ...off, orders: { count: 2, perMs: 60_000 } } });
  const client = await acme.account({ orderValidations: 'auto_approve' });
  const order = () => client.newOrder(['shop.corp.example']);
  for (let made = 0; made < 2; made++) expect((await order()).status).toBe(201);
  expectLimited(
    await order(),
    '30',
    /^An account may make 2 orders a minute, .* It goes on at 2026-05-17T12:00:30Z\.$/,
  );
  expect((await (await acme.account({ orderValidations: 'auto_approve' })).newOrder(['a.corp.example'])).status).toBe(
    201,
  );
  acme.ca.clock.advance(30_000);
  expect((await order()).status).toBe(201);
  expect((await order()).status).toBe(429);
});

test('ORD-28: what a rule refuses does not count', async () => {
  await using acme = await testAcme({ directory, limits: { ...off, orders: perHour(1) } });
  const client = await acme.account({ orderValidations: 'auto_approve' });
  for (let asked = 0; asked < 3; asked++) expect((await client.newOrder(['shop.example.org'])).status).toBe(403);
  expect((await client.newOrder(['shop.corp.example'])).status).toBe(201);
});

test('SEC-30, G-29: new accounts of one address are limited; a known key is answered all the same', async () => {
  await using acme = await testAcme({ limits: { ...off, accounts: perHour(2) } });
  const [first, second, third] = [acme.client(), acme.client(), acme.client()];
  expect([(await first.register()).status, (await second.register()).status]).toEqual([201, 201]);
  expectLimited(
    await third.register(),
    '60',
    /^From one address 2 accounts an hour may be made, and from 127\.0\.0\.1 /,
  );
  expect((await first.register()).status).toBe(200);
  acme.ca.clock.advance(HOUR_MS / 2);
  const later = acme.client({ key: third.key });
  expect((await later.register()).status).toBe(201);
});

test('ORD-28: a name whose validation failed too often is not looked for again until later; other names are', async () => {
  await using acme = await testAcme({ directory, limits: { ...off, failures: perHour(2) } });
  const client = await acme.account();
  const challengeOf = async (name: string): Promise<string> => {
    const order = await client.newOrder([name]);
    return (await client.post(order.json.authorizations[0])).json.challenges[0].url;
  };
  for (let failure = 0; failure < 2; failure++) {
    const url = await challengeOf('shop.corp.example');
    expect((await client.post(url, {})).json.status).toBe('processing');
    await validateAll(acme);
    expect((await client.post(url)).json.status).toBe('invalid');
  }
  const url = await challengeOf('shop.corp.example');
  expectLimited(
    await client.post(url, {}),
    '60',
    /2 validations an hour of one name may fail, and those of shop\.corp/,
  );
  expect((await client.post(url)).json).toMatchObject({ status: 'pending' });
  expect((await client.post(await challengeOf('www.corp.example'), {})).json.status).toBe('processing');
  acme.ca.clock.advance(HOUR_MS / 2);
  const again = await acme.client({ key: client.key, kid: client.kid });
  expect((await again.post(url, {})).json.status).toBe('processing');
});

test('ORD-28: an authorization that is deactivated before its last try counts as one that failed', async () => {
  await using acme = await testAcme({ directory, limits: { ...off, failures: perHour(1) } });
  const client = await acme.account();
  const begun = async () => {
    const [url] = (await client.newOrder(['shop.corp.example'])).json.authorizations;
    return { url, challenge: (await client.post(url)).json.challenges[0].url };
  };
  const untried = await begun();
  expect((await client.post(untried.challenge, {})).json.status).toBe('processing');
  expect((await client.post(untried.url, { status: 'deactivated' })).status).toBe(200);
  const tried = await begun();
  expect((await client.post(tried.challenge, {})).json.status).toBe('processing');
  for (const claim of await claimChallenges(acme.ca, 10, HOUR_MS))
    await validateChallenge(acme.ca, claim, new AbortController().signal);
  expect((await client.post(tried.url, { status: 'deactivated' })).status).toBe(200);
  expectLimited(await client.post((await begun()).challenge, {}), '60', /1 validations an hour of one name may fail/);
});

/** All tries that are due now and in the next minute; there is no network, so they fail. */
async function validateAll({ ca }: TestAcme): Promise<void> {
  for (let second = 0; second < 60; second++) {
    for (const claim of await claimChallenges(ca, 10, HOUR_MS)) {
      await validateChallenge(ca, claim, new AbortController().signal);
    }
    ca.clock.advance(1_000);
  }
}

test('SEC-30: requests of one address beyond the limit are refused as every ACME client understands', async () => {
  await using acme = await testAcme({ limitRequests: perHour(3) });
  const client = acme.client();
  const { newNonce = '' } = await client.directory();
  expect((await client.get(newNonce)).status).toBe(204);
  expect((await client.get(newNonce)).status).toBe(204);
  expectLimited(await client.get(newNonce), '60', /^More requests come from this address/);
  expectLimited(await client.post(newNonce, '', { nonce: 'AA' }), '60', /^More requests/);
});
