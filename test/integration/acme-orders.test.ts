// Orders, authorizations and challenges as ACME clients are sent them, over HTTPS.
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatId, newUuid, parseId } from '../../src/core/ids.ts';
import { updateDirectory } from '../../src/core/update-directory.ts';
import { type TestAcme, testAcme } from '../support/acme.ts';
import type { AcmeAnswer, AcmeClient } from '../support/acme-client.ts';
import { DAY_MS } from '../support/clock.ts';
import { admin } from '../support/given.ts';
import { givenDirectory } from '../support/given-directory.ts';

let acme: TestAcme;
beforeAll(async () => {
  acme = await testAcme({
    directory: { allowed_dns_identifiers: ['**.corp.example'], allowed_ip_identifiers: ['10.0.0.0/8'] },
  });
});
afterAll(() => acme[Symbol.asyncDispose]());

const NAME = 'shop.corp.example';
const URN = 'urn:ietf:params:acme:error:';
const set = (table: string, id: string | undefined, columns: Readonly<Record<string, unknown>>) =>
  sql`update ${sql.table(table)} set ${sql.join(
    Object.entries(columns).map(([name, value]) => sql`${sql.ref(name)} = ${value}`),
  )} where id = ${id}`.execute(acme.ca.database.db);
const uuidOf = (prefix: 'ordr' | 'authz' | 'chal', url: string) => parseId(prefix, url.split('/').at(-1) ?? '');

/** A new order with its only authorization and the challenges of that. */
async function ordered(client: AcmeClient, name = NAME) {
  const order = await client.newOrder([name]);
  const authorization = await client.post(order.json.authorizations[0]);
  const challenge = (type: string) =>
    authorization.json.challenges.find((offered: { readonly type: string }) => offered.type === type);
  return { order, authorization, challenge, url: order.headers.location ?? '' };
}

function expectProblem({ status, json, headers }: AcmeAnswer, expected: { status: number; type: string }): void {
  expect({ status, type: json.type }).toEqual({ status: expected.status, type: URN + expected.type });
  expect(headers['content-type']).toBe('application/problem+json');
  expect(json).not.toHaveProperty('identifier'); // ERR-3
}

describe('an order', () => {
  test('ORD-1, ORD-2, G-2, G-5, G-7, G-10, G-19: is sent whole and in one line, with its URL, when it is made and when it is polled', async () => {
    const client = await acme.account();
    const order = await client.newOrder(['Shop.Corp.Example', '10.1.2.3']);
    const { slug } = acme.directory.fields;
    const base = `https://acme.corp.example/acme/${slug}`;
    const url = order.headers.location ?? '';

    expect(order.status).toBe(201);
    expect(url).toMatch(new RegExp(`^${base}/order/ordr_[0-9a-z]{26}$`));
    const [first, second] = order.json.authorizations;
    expect(order.text).toBe(
      '{"status":"pending","expires":"2026-05-18T12:00:00Z",' +
        '"identifiers":[{"type":"dns","value":"Shop.Corp.Example"},{"type":"ip","value":"10.1.2.3"}],"profile":"server",' +
        `"authorizations":["${first}","${second}"],"finalize":"${url}/finalize"}`,
    );
    expect(first).toMatch(new RegExp(`^${base}/authz/authz_[0-9a-z]{26}$`));
    expect(order.headers).not.toHaveProperty('retry-after');

    const polled = await client.post(url);
    expect({ status: polled.status, text: polled.text, location: polled.headers.location }).toEqual({
      status: 200,
      text: order.text,
      location: url,
    });
    expect(polled.headers).not.toHaveProperty('retry-after');
  });

  test('ORD-13, ORD-14, ARI-7, PRF-1, ORD-29: what was asked for is shown, normalised; unknown members are not', async () => {
    const client = await acme.account();
    const order = await client.newOrder([NAME], {
      notBefore: '2026-05-17T16:00:00.5+04:00',
      notAfter: '2026-06-17T12:00:00Z',
      profile: 'server',
      replaces: 'AQ.Ag',
      resource: 'new-order',
      status: 'valid',
      surprise: { deep: [1] },
    });
    expect(order.status).toBe(201);
    expect(Object.keys(order.json)).toEqual([
      'status',
      'expires',
      'identifiers',
      'notBefore',
      'notAfter',
      'profile',
      'replaces',
      'authorizations',
      'finalize',
    ]);
    expect(order.json).toMatchObject({
      status: 'pending',
      notBefore: '2026-05-17T12:00:00Z',
      notAfter: '2026-06-17T12:00:00Z',
      replaces: 'AQ.Ag',
    });
    const plain = await client.newOrder([NAME], { profile: '' });
    expect(plain.json).toMatchObject({ profile: 'server' });
  });

  test('CRT-1, G-12: shows its certificate when it is valid, and when to come again while it is being signed', async () => {
    const client = await acme.account();
    const { url } = await ordered(client);
    const cert = newUuid(acme.ca.clock.now());
    const reserved = { issued_cert_id: cert, signing_cert_id: cert, due_at: acme.ca.clock.now() };
    const bytes = Object.fromEntries(
      ['serial', 'tbs', 'csr_sha256', 'key_thumbprint'].map((name) => [name, Buffer.from(name)]),
    );
    await set('orders', uuidOf('ordr', url), { state: 'processing', ...reserved, ...bytes });
    const processing = await client.post(url);
    expect(processing.json.status).toBe('processing');
    expect(processing.json).not.toHaveProperty('certificate');
    expect(processing.headers['retry-after']).toBe('2');

    await set('orders', uuidOf('ordr', url), { state: 'valid', tbs: null, due_at: null });
    const valid = await client.post(url);
    expect(valid.json).toMatchObject({
      status: 'valid',
      certificate: url.replace(/order\/.*/, `cert/${formatId('icrt', cert)}`),
    });
    expect(valid.headers).not.toHaveProperty('retry-after');
  });

  test('ORD-20, ORD-25, G-8: shows why it is invalid, after everything else, and all else as it was', async () => {
    const client = await acme.account();
    const { order, url } = await ordered(client);
    const identifier = { type: 'dns', value: NAME };
    const error = { type: 'dns', detail: 'No answer.', subproblems: [{ type: 'dns', detail: 'No.', identifier }] };
    await set('orders', uuidOf('ordr', url), { state: 'invalid', error: JSON.stringify(error) });
    const { json } = await client.post(url);
    const { status: _, error: shown, ...others } = json;
    expect({ status: 'pending', ...others }).toEqual(order.json);
    expect(Object.keys(json).at(-1)).toBe('error');
    expect(shown).toEqual({
      type: `${URN}dns`,
      detail: 'No answer.',
      status: 400,
      subproblems: [{ type: `${URN}dns`, detail: 'No.', identifier }],
    });
  });

  test('DIR-5: is under the slug of the request, whatever the directory is called now', async () => {
    const directory = await givenDirectory(acme.ca, { allowed_dns_identifiers: ['**'] });
    const client = await acme.account({ directory });
    const { slug } = directory.fields;
    await updateDirectory(acme.ca, admin, directory.id, { slug: `${slug}-new` });
    const renamed = acme.client({ key: client.key, kid: client.kid, slug: `${slug}-new` });
    const { order, challenge } = await ordered(renamed);
    expect(order.json.finalize).toContain(`/acme/${slug}-new/order/`);
    const old = await client.post(order.headers.location?.replace(`${slug}-new`, slug) ?? '');
    expect(old.json.authorizations[0]).toContain(`/acme/${slug}/authz/`);
    // KEY-6: the account as the response names it.
    const { url } = challenge('dns-account-01');
    expect((await renamed.post(url, {})).status).toBe(200);
    const row = await acme.ca.database.db
      .selectFrom('challenges')
      .select('account_url')
      .where('id', '=', uuidOf('chal', url) ?? '')
      .executeTakeFirst();
    expect(row).toEqual({ account_url: client.kid });
  });
});

describe('an authorization', () => {
  test('AUT-1, AUT-3, CHA-1, CHA-2, ORD-8, G-9, G-16, G-17: its identifier comes first, then all challenges that it offers', async () => {
    const client = await acme.account();
    const { authorization } = await ordered(client);
    expect(authorization.status).toBe(200);
    expect(authorization.headers).not.toHaveProperty('retry-after');
    const { challenges } = authorization.json;
    expect(authorization.text).toBe(
      `{"identifier":{"type":"dns","value":"${NAME}"},"status":"pending","expires":"2026-05-18T12:00:00Z","challenges":[` +
        ['http-01', 'dns-01', 'tls-alpn-01', 'dns-account-01']
          .map(
            (type, index) =>
              `{"type":"${type}","url":"${challenges[index].url}","status":"pending","token":"${challenges[index].token}"}`,
          )
          .join(',') +
        ']}',
    );
    const wild = await ordered(client, '*.corp.example');
    expect(wild.authorization.json).toMatchObject({
      identifier: { type: 'dns', value: 'corp.example' },
      wildcard: true,
      challenges: [{ type: 'dns-01' }, { type: 'dns-account-01' }],
    });
  });

  test('AUT-6: is deactivated by its client, and its order with it', async () => {
    const client = await acme.account();
    const { order, url } = await ordered(client);
    const [authorizationUrl] = order.json.authorizations;
    const ended = await client.post(authorizationUrl, { status: 'deactivated' });
    expect({ status: ended.status, state: ended.json.status }).toEqual({ status: 200, state: 'deactivated' });
    expect(ended.json.challenges).not.toHaveLength(0);
    expect((await client.post(url)).json).toMatchObject({ status: 'invalid', error: { type: `${URN}unauthorized` } });
    expect((await client.post(authorizationUrl)).json.status).toBe('deactivated');
  });

  test.each([[{ status: 'valid' }], [{}], [{ status: 'revoked' }]])(
    'HTTP-7: %j is neither a read nor a deactivation',
    async (payload) => {
      const client = await acme.account();
      const { order } = await ordered(client);
      expectProblem(await client.post(order.json.authorizations[0], payload), { status: 400, type: 'malformed' });
      expect((await client.post(order.json.authorizations[0])).json.status).toBe('pending');
    },
  );

  test('PRE-1: is made in advance, but not for a wildcard', async () => {
    const client = await acme.account();
    const authorize = async (value: string) =>
      client.post(await client.url('newAuthz'), { identifier: { type: 'dns', value } });
    const made = await authorize('Shop.corp.example');
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({ identifier: { type: 'dns', value: NAME }, status: 'pending' });
    expect((await client.post(made.headers.location ?? '')).text).toBe(made.text);
    expectProblem(await authorize('*.corp.example'), { status: 400, type: 'malformed' });
    expectProblem(await authorize('shop.example.org'), { status: 403, type: 'rejectedIdentifier' });

    const auto = await acme.account({ orderValidations: 'auto_approve' });
    const valid = await auto.post(await auto.url('newAuthz'), { identifier: { type: 'dns', value: NAME } });
    expect(valid.json).toMatchObject({ status: 'valid', challenges: [{ type: 'dns-01', status: 'valid' }] });
    expect((await auto.newOrder([NAME])).json).toMatchObject({
      status: 'ready',
      authorizations: [valid.headers.location],
    });
  });

  test('AUTO-1, AUTO-2, CHA-9: of an auto-approved account is valid at once, with one valid challenge', async () => {
    const client = await acme.account({ orderValidations: 'auto_approve' });
    const { order, authorization } = await ordered(client);
    expect(order.json.status).toBe('ready');
    const [{ url, token }] = authorization.json.challenges;
    expect(authorization.text).toBe(
      `{"identifier":{"type":"dns","value":"${NAME}"},"status":"valid","expires":"2026-05-18T12:00:00Z","challenges":[` +
        `{"type":"dns-01","url":"${url}","status":"valid","token":"${token}","validated":"2026-05-17T12:00:00Z"}]}`,
    );
    // AUTO-4
    const again = await client.post(url, {});
    expect({ status: again.status, state: again.json.status }).toEqual({ status: 200, state: 'valid' });
    expect(again.headers).not.toHaveProperty('retry-after');
  });
});

describe('a challenge', () => {
  test('CHA-3, CHA-4, CHA-6, AUT-5, G-3, G-6: begins to be validated by {}, and is read by POST-as-GET', async () => {
    const client = await acme.account();
    const { order, challenge } = await ordered(client);
    const { url, token } = challenge('http-01');
    const processing = `{"type":"http-01","url":"${url}","status":"processing","token":"${token}"}`;
    const read = await client.post(url);
    expect({ status: read.status, text: read.text }).toEqual({
      status: 200,
      text: processing.replace('processing', 'pending'),
    });
    expect(read.headers).not.toHaveProperty('retry-after');
    for (const answer of [await client.post(url, {}), await client.post(url, {}), await client.post(url)]) {
      expect({ status: answer.status, text: answer.text, retry: answer.headers['retry-after'] }).toEqual({
        status: 200,
        text: processing,
        retry: '1',
      });
      expect(answer.all('link')).toContain(`<${order.json.authorizations[0]}>;rel="up"`);
    }
    const authorization = await client.post(order.json.authorizations[0]);
    expect(authorization.json.status).toBe('pending'); // AUT-2
    expect(authorization.headers['retry-after']).toBe('1');
  });

  test('JWS-23: members of old clients are ignored', async () => {
    const client = await acme.account();
    const { challenge } = await ordered(client);
    const { url } = challenge('http-01');
    const answer = await client.post(url, { resource: 'challenge', type: 'dns-01', keyAuthorization: 'x.y' });
    expect(answer.json).toMatchObject({ type: 'http-01', status: 'processing' });
  });

  test('AUT-4, CHA-8, G-8: that failed shows its error last, and alone', async () => {
    const client = await acme.account();
    const { order, challenge } = await ordered(client);
    const { url } = challenge('http-01');
    await client.post(url, {});
    const error = JSON.stringify({ type: 'connection', detail: 'Nobody\nanswered.' });
    await set('challenges', uuidOf('chal', url), { state: 'invalid', error, due_at: null });
    await set('authorizations', uuidOf('authz', order.json.authorizations[0]), { state: 'invalid' });
    const { json, headers } = await client.post(order.json.authorizations[0]);
    expect(json).toMatchObject({ status: 'invalid', challenges: [{ type: 'http-01', status: 'invalid' }] });
    expect(Object.keys(json.challenges[0])).toEqual(['type', 'url', 'status', 'token', 'error']);
    expect(json.challenges[0].error).toEqual({ type: `${URN}connection`, detail: 'Nobody answered.', status: 400 });
    expect(headers).not.toHaveProperty('retry-after');
    // CHA-5
    expectProblem(await client.post(url, {}), { status: 400, type: 'malformed' });
  });
});

describe('refusals', () => {
  test.each([
    ['an empty list', { identifiers: [] }],
    ['no list', {}],
    ['no array', { identifiers: { type: 'dns', value: NAME } }],
    ['101', { identifiers: Array.from({ length: 101 }, (_, n) => ({ type: 'dns', value: `a${n}.corp.example` })) }],
    ['no objects', { identifiers: [NAME] }],
    ['a number as value', { identifiers: [{ type: 'dns', value: 1 }] }],
  ])('ORD-3: %s is malformed', async (what, payload) => {
    const client = await acme.account();
    const answer = await client.post(await client.url('newOrder'), payload);
    expectProblem(answer, { status: 400, type: 'malformed' });
    if (what === '101') expect(answer.json.detail).toContain('100');
  });

  test('ERR-2, ERR-5, G-31: a refused name is told with the rule, each with its subproblem', async () => {
    const client = await acme.account();
    const answer = await client.newOrder(['shop.example.org', NAME, '192.0.2.1']);
    expectProblem(answer, { status: 403, type: 'rejectedIdentifier' });
    expect(answer.json.detail).toMatch(/allows names under \*\*\.corp\.example; shop\.example\.org is outside/);
    expect(answer.json.subproblems).toMatchObject([
      { type: `${URN}rejectedIdentifier`, identifier: { type: 'dns', value: 'shop.example.org' } },
      { type: `${URN}rejectedIdentifier`, identifier: { type: 'ip', value: '192.0.2.1' } },
    ]);
  });

  test.each([
    ['HTTP-7: {} is not the empty payload of a read', {}],
    ['nor is a status', { status: 'valid' }],
  ])('%s', async (_, payload) => {
    const client = await acme.account();
    const { url } = await ordered(client);
    expectProblem(await client.post(url, payload), { status: 400, type: 'malformed' });
  });

  test('ACC-13, SEC-38: what is not the account’s is answered byte for byte as what never was', async () => {
    const [owner, stranger] = [await acme.account(), await acme.account()];
    const elsewhere = await acme.account({ directory: await givenDirectory(acme.ca) });
    const { order, challenge, url } = await ordered(owner);
    const urls = { ordr: url, authz: order.json.authorizations[0], chal: challenge('http-01').url };
    for (const [prefix, own] of Object.entries(urls)) {
      const payloads = { ordr: [''], authz: ['', { status: 'deactivated' }], chal: ['', {}] }[prefix] ?? [];
      const missing = own.replace(
        /[^/]*$/,
        formatId(prefix === 'ordr' ? 'ordr' : prefix === 'authz' ? 'authz' : 'chal', newUuid(acme.ca.clock.now())),
      );
      const others = [
        () => stranger.post(missing, payloads[0]),
        ...payloads.map((payload) => () => stranger.post(own, payload)),
        ...['1', own.split('/').at(-1)?.toUpperCase(), formatId('dir', newUuid(new Date(0)))].map(
          (id) => () => stranger.post(own.replace(/[^/]*$/, String(id)), payloads[0]),
        ),
      ];
      const texts = new Set<string>();
      for (const ask of others) {
        const answer = await ask();
        expectProblem(answer, { status: 404, type: 'malformed' });
        texts.add(answer.text);
      }
      const { slug } = acme.directory.fields;
      const there = elsewhere.target.directoryUrl.split('/').at(-2) ?? '';
      texts.add((await elsewhere.post(own.replace(`/acme/${slug}/`, `/acme/${there}/`), payloads[0])).text);
      expect([...texts]).toHaveLength(1);
    }
    expect((await owner.post(urls.chal)).json.status).toBe('pending');
  });

  test('ORD-28: an authorization in advance counts as an order', async () => {
    const limits = { orders: { count: 2, perMs: 3_600_000 }, accounts: 'off', failures: 'off' } as const;
    await using own = await testAcme({ limits, directory: { allowed_dns_identifiers: ['**'] } });
    const client = await own.account();
    const newAuthz = await client.url('newAuthz');
    const authorize = () => client.post(newAuthz, { identifier: { type: 'dns', value: NAME } });
    expect((await authorize()).status).toBe(201);
    expect((await client.newOrder([NAME])).status).toBe(201);
    for (const refused of [await authorize(), await client.newOrder([NAME])])
      expectProblem(refused, { status: 429, type: 'rateLimited' });
  });

  test('ORD-19, ORD-26: past its end an order reads invalid, and its expiry stays', async () => {
    await using own = await testAcme({ directory: { allowed_dns_identifiers: ['**'] } });
    const client = await own.account();
    const { order, url, challenge } = await ordered(client);
    own.ca.clock.advance(DAY_MS);
    // Its nonces are a day old.
    const later = own.client({ key: client.key, kid: client.kid });
    const late = await later.post(url);
    expect(late.json).toMatchObject({ status: 'invalid', expires: order.json.expires });
    expect((await later.post(order.json.authorizations[0])).json.status).toBe('expired');
    expectProblem(await later.post(challenge('http-01').url, {}), { status: 400, type: 'malformed' });
  });
});
