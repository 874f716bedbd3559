// Accounts over HTTPS: newAccount, the account's own URL, and what an account may see.
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatId, newUuid, parseId } from '../../src/core/ids.ts';
import { revokeAcmeKey } from '../../src/core/revoke-acme-key.ts';
import { testAcme } from '../support/acme.ts';
import { type AcmeAnswer, type AcmeClient, anAcmeKey } from '../support/acme-client.ts';
import { eventually } from '../support/eventually.ts';
import { admin } from '../support/given.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenOpenWork, openWorkOf } from '../support/given-open-work.ts';

const MANY = 50;
const contact = ['mailto:ops@corp.example', 'mailto:root@till'];

let acme: Awaited<ReturnType<typeof testAcme>>;
let closed: Awaited<ReturnType<typeof givenDirectory>>;
let withTerms: Awaited<ReturnType<typeof givenDirectory>>;
const terms_of_service = 'https://corp.example/terms';
beforeAll(async () => {
  acme = await testAcme();
  closed = await givenDirectory(acme.ca, { registration_mode: 'preregister' });
  withTerms = await givenDirectory(acme.ca, { registration_mode: 'open', terms_of_service });
});
afterAll(() => acme[Symbol.asyncDispose]());

const newAccount = async (client: AcmeClient, payload: unknown = {}): Promise<AcmeAnswer> =>
  client.post(await client.url('newAccount'), payload, { withJwk: true });
const registered = async (members: Readonly<Record<string, unknown>> = {}) => {
  const client = acme.client();
  const answer = await client.register(members);
  expect(answer.status).toBe(201);
  return Object.assign(client, { kid: client.kid ?? '' });
};
const uuidOf = (kid: string): string => parseId('acmk', kid.split('/').at(-1) ?? '') ?? '';
const problem = ({ status, json }: AcmeAnswer) => [
  status,
  String(json?.type).replace(/^urn:ietf:params:acme:error:/, ''),
];
const rowOf = (kid: string) =>
  acme.ca.database.db.selectFrom('acme_keys').selectAll().where('id', '=', uuidOf(kid)).executeTakeFirstOrThrow();
const ownedByResource = (kid: string) =>
  sql`
    update acme_keys set origin = 'kubernetes', origin_namespace = 'shop', origin_name = ${kid}, origin_uid = 'u1',
           origin_generation = 1 where id = ${uuidOf(kid)}`.execute(acme.ca.database.db);

describe('newAccount', () => {
  test('ACC-1, G-2, G-18: 201, Location, status valid, the orders URL, and the contacts', async () => {
    const client = acme.client();
    const answer = await newAccount(client, { contact });
    expect(answer.status).toBe(201);
    const { location } = answer.headers;
    expect(location).toMatch(/^https:\/\/acme\.corp\.example\/acme\/[^/]+\/account\/acmk_[0-9a-z]{26}$/);
    expect(answer.json).toEqual({ status: 'valid', contact, orders: `${location}/orders` });
    expect(await rowOf(location ?? '')).toMatchObject({
      origin: 'acme',
      order_validations: 'challenge',
      contacts: contact,
    });
  });

  test('ACC-2, G-29: the same key again: 200, the same Location, and nothing of the request counts', async () => {
    const client = await registered({ contact });
    const before = await rowOf(client.kid);
    const answers = [
      await newAccount(client, { contact: ['mailto:other@corp.example'], termsOfServiceAgreed: true }),
      await newAccount(client, { contact: ['tel:1', ...Array.from({ length: 20 }, () => 'x')] }),
      await newAccount(client, { onlyReturnExisting: true, contact: ['tel:1'], externalAccountBinding: {} }),
      await newAccount(client, { externalAccountBinding: { protected: 'e30', payload: '', signature: '' } }),
      await newAccount(client),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(answer.headers.location).toBe(client.kid);
      expect(answer.json).toEqual({ status: 'valid', contact, orders: `${client.kid}/orders` });
    }
    expect(await rowOf(client.kid)).toEqual(before);
  });

  test('ACC-3: onlyReturnExisting: 400 accountDoesNotExist for an unknown key, and nothing is made', async () => {
    const client = acme.client();
    expect(problem(await newAccount(client, { onlyReturnExisting: true, contact }))).toEqual([
      400,
      'accountDoesNotExist',
    ]);
    const { rows } =
      await sql`select from used_keys where thumbprint = ${Buffer.from(client.key.thumbprint, 'base64url')}`.execute(
        acme.ca.database.db,
      );
    expect(rows).toEqual([]);
    await client.register();
    expect((await newAccount(client, { onlyReturnExisting: true })).status).toBe(200);
  });

  test('ACC-4: unknown members, onlyReturnExisting, orders and status are not reflected', async () => {
    const answer = await newAccount(acme.client(), {
      onlyReturnExisting: false,
      orders: 'https://evil.example',
      status: 'deactivated',
      createdAt: 'now',
      ['__proto__']: { polluted: true },
    });
    expect(Object.keys(answer.json)).toEqual(['status', 'orders']);
    expect(answer.json).toMatchObject({ status: 'valid', orders: `${answer.headers.location}/orders` });
  });

  test.each([undefined, false])(
    'ACC-5: terms of service that are not agreed to (%s): 403 with a link to them',
    async (termsOfServiceAgreed) => {
      const client = acme.client({ slug: withTerms.fields.slug });
      const answer = await newAccount(client, { termsOfServiceAgreed });
      expect(problem(answer)).toEqual([403, 'userActionRequired']);
      expect(answer.all('link')).toContain(`<${terms_of_service}>;rel="terms-of-service"`);
    },
  );

  test('ACC-5, ACC-15: terms of service that are agreed to: 201, and the URL is stored', async () => {
    const client = acme.client({ slug: withTerms.fields.slug });
    const answer = await newAccount(client, { termsOfServiceAgreed: true });
    expect(answer).toMatchObject({ status: 201, json: { termsOfServiceAgreed: true } });
    expect((await rowOf(answer.headers.location ?? '')).terms_agreed).toBe(terms_of_service);
  });

  test.each([true, false, undefined])(
    'ACC-6: without terms of service %s is accepted',
    async (termsOfServiceAgreed) => {
      const answer = await newAccount(acme.client(), { termsOfServiceAgreed });
      expect(answer.status).toBe(201);
      expect(answer.json).not.toHaveProperty('termsOfServiceAgreed');
    },
  );

  test('ACC-15: new terms bind new accounts only', async () => {
    const directory = await givenDirectory(acme.ca, { registration_mode: 'open' });
    const { slug } = directory.fields;
    const [client, preregistered] = [acme.client({ slug }), await acme.account({ directory })];
    await client.register();
    await sql`update directories set terms_of_service = ${terms_of_service}, version = version + 1 where id = ${directory.id}`.execute(
      acme.ca.database.db,
    );
    for (const known of [client, preregistered]) {
      expect((await newAccount(known)).status).toBe(200);
      expect((await known.post(known.kid ?? '')).status).toBe(200);
    }
    expect(problem(await newAccount(acme.client({ slug })))).toEqual([403, 'userActionRequired']);
  });

  test.each([undefined, []])('ACC-7: without contacts (%j)', async (none) => {
    const answer = await newAccount(acme.client(), { contact: none });
    expect(answer.status).toBe(201);
    expect(answer.json).not.toHaveProperty('contact');
  });

  test.each([
    [['tel:+4930123'], 'unsupportedContact'],
    [['mailto:a@corp.example?subject=x'], 'invalidContact'],
    [['mailto:a@corp.example,b@corp.example'], 'invalidContact'],
    [Array.from({ length: 11 }, () => 'mailto:a@corp.example'), 'malformed'],
    ['mailto:a@corp.example', 'malformed'],
    [[1], 'malformed'],
  ])('ACC-7, ACC-8: contacts %j are refused as %s, and nothing is made', async (wrong, type) => {
    const client = acme.client();
    expect(problem(await newAccount(client, { contact: wrong }))).toEqual([400, type]);
    expect(problem(await newAccount(client, { onlyReturnExisting: true }))).toEqual([400, 'accountDoesNotExist']);
  });

  describe('ACC-12: the key of an account that', () => {
    test.each([{}, { onlyReturnExisting: true }])('was deactivated: 403 (%j)', async (payload) => {
      const client = await registered();
      await client.post(client.kid, { status: 'deactivated' });
      const answer = await newAccount(client, payload);
      expect(problem(answer)).toEqual([403, 'unauthorized']);
      expect(answer.json.detail).toContain('deactivated');
    });

    test.each([{}, { onlyReturnExisting: true }])('was revoked: 403 (%j)', async (payload) => {
      const client = await registered();
      await revokeAcmeKey(acme.ca, admin, uuidOf(client.kid));
      const answer = await newAccount(client, payload);
      expect(problem(answer)).toEqual([403, 'unauthorized']);
      expect(answer.json.detail).toContain('revoked');
    });

    test('is in another directory: 403, and 400 to who only asks', async () => {
      const { key } = await registered();
      const client = acme.client({ key, slug: closed.fields.slug });
      const answer = await newAccount(client);
      expect(problem(answer)).toEqual([403, 'unauthorized']);
      expect(answer.json.detail).toContain('another directory');
      expect(problem(await newAccount(client, { onlyReturnExisting: true }))).toEqual([400, 'accountDoesNotExist']);
    });
  });

  test('ACC-16: preregister: an unlisted key: 403 externalAccountRequired; a listed one: 200, the first time too', async () => {
    const { slug } = closed.fields;
    expect(problem(await newAccount(acme.client({ slug }), { contact }))).toEqual([403, 'externalAccountRequired']);
    const listed = await acme.account({ directory: closed });
    const answer = await newAccount(listed, { contact });
    expect(answer.status).toBe(200);
    expect(answer.headers.location).toBe(listed.kid);
    expect(answer.json).toEqual({ status: 'valid', orders: `${listed.kid}/orders` });
  });

  test('ACC-18: fifty at once with one key: one account, and everybody has its URL', async () => {
    const key = anAcmeKey();
    const answers = await Promise.all(
      Array.from({ length: MANY }, () => newAccount(acme.client({ key }), { contact })),
    );
    expect(new Set(answers.map(({ headers }) => headers.location)).size).toBe(1);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(MANY - 1);
  });

  test('JWS-20: the members of a key in another order, with others, are the same key', async () => {
    const client = await registered();
    const { kty, crv, x, y } = client.key.jwk;
    const jwk = { use: 'sig', y, kid: 'mine', x, kty, crv };
    const answer = await client.post(await client.url('newAccount'), {}, { withJwk: true, header: { jwk } });
    expect([answer.status, answer.headers.location]).toEqual([200, client.kid]);
  });
});

describe('the account', () => {
  test('ACC-9: POST-as-GET and POST {} give it, and change nothing', async () => {
    const client = await registered({ contact });
    const shown = { status: 'valid', contact, orders: `${client.kid}/orders` };
    for (const payload of ['', {}]) {
      const answer = await client.post(client.kid, payload);
      expect(answer).toMatchObject({ status: 200, json: shown });
    }
    expect((await rowOf(client.kid)).version).toBe(1);
  });

  test('ACC-10: new contacts count; any other status, terms, orders and a binding do not', async () => {
    const client = await registered({ contact });
    const answer = await client.post(client.kid, {
      contact: ['mailto:new@corp.example'],
      status: 'revoked',
      termsOfServiceAgreed: true,
      orders: 'https://evil.example',
      externalAccountBinding: {},
    });
    const shown = { status: 'valid', contact: ['mailto:new@corp.example'], orders: `${client.kid}/orders` };
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual(shown);
    expect((await client.post(client.kid)).json).toEqual(shown);
    const { rows } = await sql`
      select action, actor, detail from audit where object_id = ${uuidOf(client.kid)} and action = 'update'`.execute(
      acme.ca.database.db,
    );
    const detail = { before: { contacts: contact }, after: { contacts: shown.contact } };
    expect(rows).toEqual([{ action: 'update', actor: formatId('acmk', uuidOf(client.kid)), detail }]);
  });

  test('ACC-10: an empty list takes the contacts away; a wrong one changes nothing', async () => {
    const client = await registered({ contact });
    expect(problem(await client.post(client.kid, { contact: ['tel:1'] }))).toEqual([400, 'unsupportedContact']);
    expect((await client.post(client.kid)).json.contact).toEqual(contact);
    expect((await client.post(client.kid, { contact: [] })).json).not.toHaveProperty('contact');
  });

  test('ACC-11: deactivated: 200; then 401; open orders end, processing ones too, and certificates stay', async () => {
    const client = await registered({ contact });
    const id = uuidOf(client.kid);
    const { directory_id } = await rowOf(client.kid);
    const { db } = acme.ca.database;
    const { signing_cert_id: signingCertId } = await db
      .selectFrom('directories')
      .select('signing_cert_id')
      .where('id', '=', directory_id)
      .executeTakeFirstOrThrow();
    const orders = await givenOpenWork(
      db,
      { acme_key_id: id, directory_id },
      { signingCertId, now: acme.ca.clock.now() },
    );

    const answer = await client.post(client.kid, { status: 'deactivated', contact: ['mailto:new@corp.example'] });

    expect(answer).toMatchObject({ status: 200, json: { status: 'deactivated', contact } });
    const work = await openWorkOf(db, id);
    const states = Object.fromEntries(
      Object.entries(orders).map(([state, order]) => [state, work.orders.get(order)?.state]),
    );
    expect(states).toEqual({
      pending: 'invalid',
      ready: 'invalid',
      processing: 'invalid',
      valid: 'valid',
      invalid: 'invalid',
    });
    expect(work.orders.get(orders.processing)).toMatchObject({
      tbs: null,
      due_at: null,
      error: { type: 'unauthorized' },
    });
    expect(work.authorizations).toMatchObject({ pending: 'invalid', ready: 'revoked' });
    expect(work.challenges).toEqual([expect.objectContaining({ state: 'invalid', due_at: null })]);
    expect(work.certs).toEqual([{ state: 'valid', reason: null }]);
    for (const url of [
      client.kid,
      `${client.kid}/orders`,
      await client.url('keyChange'),
      await client.url('revokeCert'),
    ])
      expect(problem(await client.post(url, ''))).toEqual([401, 'unauthorized']);
    const { rows } = await sql`
      select actor, detail->'after' as after from audit where object_id = ${id} and action = 'deactivate'`.execute(db);
    expect(rows).toEqual([{ actor: formatId('acmk', id), after: { state: 'deactivated', ended_orders: 3 } }]);
  });

  test('ACC-11: deactivated by many at once: one record', async () => {
    const client = await registered();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        acme.client({ key: client.key, kid: client.kid }).post(client.kid, { status: 'deactivated' }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(9);
  });

  test('a client changes its account also where a custom resource declared it, and the operator is told', async () => {
    const { ca } = acme;
    const client = await acme.account();
    await ownedByResource(client.kid);
    const heard: string[] = [];
    await using listener = ca.database.listen({ acmery_owned: (payload) => heard.push(JSON.parse(payload).name) });
    await eventually('we listen', () => listener.isListening);
    expect((await client.post(client.kid, { contact })).json.contact).toEqual(contact);
    expect((await client.post(client.kid, { status: 'deactivated' })).json.status).toBe('deactivated');
    await eventually('the operator is told of both', () => heard.filter((name) => name === client.kid).length === 2);
  });

  test('ACC-13: of another account, of none, and of what is no id there is the same 404', async () => {
    const [client, other] = [await registered(), await registered()];
    const base = client.kid.replace(/acmk_.*/, '');
    const ids = [
      other.kid.replace(base, ''),
      formatId('acmk', newUuid(new Date(0))),
      'acmk_x',
      formatId('ordr', uuidOf(client.kid)),
    ];
    for (const suffix of ['', '/orders']) {
      const answers = [];
      for (const id of ids) answers.push(await client.post(`${base}${id}${suffix}`));
      for (const answer of answers) expect(problem(answer)).toEqual([404, 'malformed']);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    }
    expect(problem(await client.post(other.kid, { status: 'deactivated' }))).toEqual([404, 'malformed']);
    expect((await other.post(other.kid)).json.status).toBe('valid');
  });
});

describe('orders', () => {
  test('ORDL-1: a list of URLs, empty at first', async () => {
    const client = await registered();
    expect(await client.post(`${client.kid}/orders`)).toMatchObject({ status: 200, json: { orders: [] } });
  });

  test('ORDL-2: pages are linked, and the cursor in the URL is signed like the rest of it', async () => {
    const client = await registered();
    const { directory_id } = await rowOf(client.kid);
    const now = acme.ca.clock.now();
    await sql`
      insert into orders (id, acme_key_id, directory_id, created_at, expires_at, state, profile, identifiers)
      select gen_random_uuid(), ${uuidOf(client.kid)}, ${directory_id}, ${now}, ${now}::timestamptz + interval '1 day',
             'ready', 'server', '[]' from generate_series(1, 450)`.execute(acme.ca.database.db);
    const sizes: number[] = [];
    const seen = new Set<string>();
    let url: string | undefined = `${client.kid}/orders`;
    while (url !== undefined) {
      const answer: AcmeAnswer = await client.post(url);
      expect(answer.status).toBe(200);
      sizes.push(answer.json.orders.length);
      for (const order of answer.json.orders) seen.add(order);
      const links = answer.all('link');
      expect(links).toContain(`<${client.target.directoryUrl}>;rel="index"`);
      url = links.flatMap((link) => /^<(.*)>;rel="next"$/.exec(link)?.[1] ?? [])[0];
    }
    expect(sizes).toEqual([200, 200, 50]);
    expect(seen.size).toBe(450);
    for (const order of seen) expect(order).toMatch(/\/order\/ordr_[0-9a-z]{26}$/);
  });

  test('ORDL-2: what is no cursor: 400 malformed', async () => {
    const client = await registered();
    expect(problem(await client.post(`${client.kid}/orders?cursor=x`))).toEqual([400, 'malformed']);
  });
});

test('DIR-5: URLs are under the slug that the request used', async () => {
  const client = await registered();
  const { slug } = acme.directory.fields;
  await sql`insert into directory_slugs (slug, directory_id, created_at) values ('old-web', ${acme.directory.id}, now())`.execute(
    acme.ca.database.db,
  );
  const aliased = acme.client({ key: client.key, slug: 'old-web' });
  const answer = await newAccount(aliased);
  const kid = client.kid.replace(`/${slug}/`, '/old-web/');
  expect(answer.headers.location).toBe(kid);
  expect(answer.json.orders).toBe(`${kid}/orders`);
});
