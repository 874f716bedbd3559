// POST /v1/directories/{id}/explain: every rule by the code that issues, CAA over a DNS server that the test scripts.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SingleDirectoryView } from '../../src/core/directories.ts';
import { formatId, newUuid } from '../../src/core/ids.ts';
import { issuanceChecks } from '../../src/core/issuance-policy.ts';
import type { SingleSigningCertView } from '../../src/core/signing-certs.ts';
import { updateDirectory } from '../../src/core/update-directory.ts';
import type { AcmeKeyState } from '../../src/lifecycles/acme-key.ts';
import { createCaaResolver } from '../../src/prober/caa.ts';
import { createResolver } from '../../src/prober/resolver.ts';
import { openDatabase } from '../../src/store/database.ts';
import { type ApiAnswer, testApi } from '../support/api-client.ts';
import { DAY_MS } from '../support/clock.ts';
import { type CaaData, type FakeDns, fakeDns, type Script } from '../support/fake-dns.ts';
import { admin } from '../support/given.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';
import { exampleRows } from '../support/rows.ts';

const issue = (value: string, tag = 'issue', flags = 0): CaaData => ({ flags, tag, value });
/** Names that stand nowhere do not exist. */
const zone: Record<string, Script> = {
  'ours.example': { caa: [issue('ca.corp.example')] },
  'theirs.example': { caa: [issue('other.example')] },
  'nobody.example': { caa: [issue(';')] },
  'wild.example': { caa: [issue('ca.corp.example'), issue('other.example', 'issuewild')] },
  'dns-only.example': { caa: [issue('ca.corp.example; validationmethods=dns-01')] },
  'alias.example': { cname: 'theirs.example' },
  'broken.example': 'servfail',
  'garbled.example': 'malformed',
  'silent.example': 'silent',
  'critical.example': { caa: [issue('x', 'future', 128)] },
};

let dns: FakeDns;
let api: Awaited<ReturnType<typeof testApi>>;
let issuer: SingleSigningCertView;
let directory: SingleDirectoryView;

beforeAll(async () => {
  dns = await fakeDns(zone);
  api = await testApi({ caa: createCaaResolver(createResolver({ servers: [dns.address], timeoutMs: 300, tries: 1 })) });
  issuer = await givenIntermediate(api.ca, {
    name: 'Corp Issuing',
    name_constraints: { excluded_dns: ['secret.example'] },
  });
  directory = await givenDirectory(api.ca, { issuer, slug: 'web', caa_tag: 'ca.corp.example' });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
});

const name = (value: string) => ({ type: 'dns', value });
const explain = (order: object, { id }: { readonly id: string } = directory): Promise<ApiAnswer> =>
  api.post(`/v1/directories/${formatId('dir', id)}/explain`, order, { as: 'write' });
const explained = async (order: object, where?: { readonly id: string }) => {
  const answer = await explain(order, where);
  expect(answer.status).toBe(200);
  return answer.body;
};
/** The names of the rules that fail, in order. */
const failing = ({ rules }: { rules: { rule: string; outcome: string }[] }) =>
  rules.filter(({ outcome }) => outcome === 'fail').map(({ rule }) => rule);
const ruleOf = (body: { rules: { rule: string }[] }, wanted: string) => body.rules.find(({ rule }) => rule === wanted);
const inDays = (days: number) => new Date(api.ca.clock.now().getTime() + days * DAY_MS).toISOString();

const givenAccount = async (
  columns: { order_validations?: 'challenge' | 'auto_approve'; state?: AcmeKeyState } = {},
  of = directory,
) => {
  const row = { ...exampleRows().acme_keys, directory_id: of.id, ...columns };
  await api.ca.database.db.insertInto('acme_keys').values(row).execute();
  return formatId('acmk', row.id);
};

test('an order that would be accepted passes every rule that applies', async () => {
  const body = await explained({ identifiers: [name('Shop.ours.example'), { type: 'ip', value: '10.0.0.1' }] });
  expect(body.would_be_accepted).toBe(true);
  expect(body.rules.map(({ rule, outcome }: { rule: string; outcome: string }) => `${rule} ${outcome}`)).toEqual([
    'directory_active pass',
    'client_address pass',
    'account_state not_applicable',
    'identifier_syntax pass',
    'issuer_usable pass',
    'profile pass',
    'names_allowed pass',
    'addresses_allowed pass',
    'name_constraints pass',
    'key_type not_applicable',
    'validity pass',
    'caa pass',
  ]);
  expect(ruleOf(body, 'names_allowed')).toEqual({
    rule: 'names_allowed',
    outcome: 'pass',
    detail: 'Directory web allows all DNS names asked for.',
    identifiers: [{ ...name('shop.ours.example'), outcome: 'pass', detail: 'shop.ours.example matches **.' }],
  });
  expect(ruleOf(body, 'validity')).toMatchObject({ identifiers: null });
  expect(body.caa).toEqual([
    {
      name: 'shop.ours.example',
      allowed: true,
      validation_methods: ['http-01', 'dns-01', 'tls-alpn-01', 'dns-account-01'],
      detail: 'CAA of ours.example allows it: "issue ca.corp.example".',
      looked_up: [
        { name: 'shop.ours.example', records: [], failure: null },
        { name: 'ours.example', records: [issue('ca.corp.example')], failure: null },
      ],
    },
  ]);
});

test('the rules are those of issuance, in their order, and CAA', async () => {
  const body = await explained({ identifiers: [name('shop.example')] });
  expect(body.rules.map(({ rule }: { rule: string }) => rule)).toEqual([
    ...issuanceChecks.map(({ rule }) => rule),
    'caa',
  ]);
});

describe('a rule that fails is named with its reason', () => {
  let strict: SingleDirectoryView;
  beforeAll(async () => {
    strict = await givenDirectory(api.ca, {
      issuer,
      slug: 'strict',
      allowed_dns_identifiers: ['*.corp.example', '**.secret.example'],
      allowed_ip_identifiers: ['10.0.0.0/8'],
      remote_ip_whitelist: ['192.0.2.0/24'],
      cert_min_days: 5,
      cert_max_days: 30,
      profiles: ['client'],
      allowed_key_types: ['ec_256'],
    });
  });
  const good = { identifiers: [name('shop.corp.example')], remote_ip: '192.0.2.7' };

  test('and a good order passes', async () => {
    expect(
      failing(await explained({ ...good, profile: 'client', key_type: 'ec_256', not_after: inDays(30) }, strict)),
    ).toEqual([]);
  });

  test.each<[string, () => object, RegExp]>([
    ['client_address', () => ({ remote_ip: '203.0.113.9' }), /192\.0\.2\.0\/24; 203\.0\.113\.9 is outside/],
    ['client_address', () => ({ remote_ip: '::ffff:203.0.113.9' }), /203\.0\.113\.9 is outside/],
    [
      'names_allowed',
      () => ({ identifiers: [name('a.b.corp.example')] }),
      /\*\.corp\.example.*a\.b\.corp\.example is outside/,
    ],
    [
      'addresses_allowed',
      () => ({ identifiers: [{ type: 'ip', value: '192.0.2.1' }] }),
      /10\.0\.0\.0\/8; 192\.0\.2\.1 is outside/,
    ],
    [
      'name_constraints',
      () => ({ identifiers: [name('a.secret.example')] }),
      /^CA cert Corp Issuing excludes secret\.example/,
    ],
    ['identifier_syntax', () => ({ identifiers: [name('shop.corp.example'), name('a..b')] }), /has an empty label/],
    [
      'identifier_syntax',
      () => ({ identifiers: [name('shop.corp.example'), { type: 'email', value: 'a@b' }] }),
      /supported are dns and ip/,
    ],
    ['validity', () => ({ not_after: inDays(31) }), /outside the allowed window .*allows 5 to 30 days/],
    ['validity', () => ({ not_before: inDays(3) }), /notBefore .* is outside/],
    ['validity', () => ({ not_before: inDays(0), not_after: inDays(-1) }), /notAfter .* is outside/],
    ['profile', () => ({ profile: 'server' }), /offers the profiles client; "server" is not one/],
    ['key_type', () => ({ key_type: 'rsa_2048' }), /takes keys of type ec_256; rsa_2048 is not one/],
  ])('%s', async (rule, changes, detail) => {
    const body = await explained({ ...good, ...changes() }, strict);
    expect(body.would_be_accepted).toBe(false);
    expect(failing(body)).toEqual([rule]);
    expect(ruleOf(body, rule)).toMatchObject({ detail: expect.stringMatching(detail) });
  });

  test('beside all others that fail', async () => {
    const body = await explained(
      {
        identifiers: [name('x.example'), { type: 'ip', value: '1.2.3.4' }],
        remote_ip: '1.1.1.1',
        profile: 'mtls',
        not_after: inDays(99),
      },
      strict,
    );
    expect(failing(body)).toEqual(['client_address', 'profile', 'names_allowed', 'addresses_allowed', 'validity']);
  });

  test.each<[AcmeKeyState, readonly string[]]>([
    ['valid', []],
    ['deactivated', ['account_state']],
    ['revoked', ['account_state']],
  ])('account_state for an account that is %s', async (state, rules) => {
    const acme_key_id = await givenAccount({ state }, strict);
    expect(failing(await explained({ ...good, acme_key_id }, strict))).toEqual(rules);
  });

  test('issuer_usable for a CA cert that was revoked', async () => {
    const gone = await givenIntermediate(api.ca);
    const orphan = await givenDirectory(api.ca, { issuer: gone });
    await api.ca.database.db
      .updateTable('signing_certs')
      .set({ state: 'revoked', revoked_at: api.ca.clock.now(), reason: 0 })
      .where('id', '=', gone.id)
      .execute();
    expect(failing(await explained({ identifiers: [name('a.ours.example')] }, orphan))).toContain('issuer_usable');
  });
});

describe('CAA', () => {
  test.each<[string, boolean, readonly string[], RegExp]>([
    ['a.ours.example', true, ['http-01', 'dns-01', 'tls-alpn-01', 'dns-account-01'], /allows it/],
    ['*.ours.example', true, ['dns-01', 'dns-account-01'], /allows it/],
    [
      'theirs.example',
      false,
      [],
      /does not allow ca\.corp\.example to issue for theirs\.example: "issue other\.example" names another issuer/,
    ],
    ['nobody.example', false, [], /names no issuer/],
    ['wild.example', true, ['http-01', 'dns-01', 'tls-alpn-01', 'dns-account-01'], /allows it/],
    ['*.wild.example', false, [], /"issuewild other\.example" names another issuer/],
    ['dns-only.example', true, ['dns-01'], /allows it/],
    ['alias.example', false, [], /names another issuer/],
    ['critical.example', false, [], /critical record with the unknown tag "future"/],
    ['broken.example', false, [], /^CAA of broken\.example could not be looked up: SERVFAIL\.$/],
    ['a.broken.example', false, [], /^CAA of broken\.example could not be looked up: SERVFAIL\.$/],
    ['garbled.example', false, [], /^CAA of garbled\.example could not be looked up: /],
    ['silent.example', false, [], /^CAA of silent\.example could not be looked up: no answer in time\.$/],
    [
      'free.example',
      true,
      ['http-01', 'dns-01', 'tls-alpn-01', 'dns-account-01'],
      /no CAA record, which the directory lets pass/,
    ],
  ])('of %s: allowed is %s', async (value, allowed, methods, detail) => {
    const body = await explained({ identifiers: [name(value)] });
    expect(body.caa).toMatchObject([
      { name: value, allowed, validation_methods: methods, detail: expect.stringMatching(detail) },
    ]);
    expect(body.would_be_accepted).toBe(allowed);
    expect(failing(body)).toEqual(allowed ? [] : ['caa']);
  });

  test('a failed look-up is shown where it happened', async () => {
    const { caa } = await explained({ identifiers: [name('a.broken.example')] });
    expect(caa[0].looked_up).toEqual([
      { name: 'a.broken.example', records: [], failure: null },
      { name: 'broken.example', records: [], failure: 'SERVFAIL' },
    ]);
  });

  test('without any record follows on_missing_caa', async () => {
    const demanding = await givenDirectory(api.ca, { issuer, on_missing_caa: 'fail', caa_tag: 'ca.corp.example' });
    const body = await explained({ identifiers: [name('free.example'), name('a.ours.example')] }, demanding);
    expect(body.caa).toMatchObject([
      { allowed: false, detail: expect.stringMatching(/demands one/) },
      { allowed: true },
    ]);
    expect(ruleOf(body, 'caa')).toMatchObject({
      outcome: 'fail',
      identifiers: [
        { value: 'free.example', outcome: 'fail' },
        { value: 'a.ours.example', outcome: 'pass' },
      ],
    });
  });

  test('an accounturi under any slug of the directory is the account', async () => {
    const moved = await givenDirectory(api.ca, { issuer, slug: 'old-home', caa_tag: 'ca.corp.example' });
    await updateDirectory(api.ca, admin, moved.id, { slug: 'new-home' });
    const acme_key_id = await givenAccount({}, moved);
    const stranger = await givenAccount({}, moved);
    for (const home of ['old-home', 'new-home', 'elsewhere']) {
      zone[`${home}.example`] = {
        caa: [issue(`ca.corp.example; accounturi=https://acme.corp.example/acme/${home}/account/${acme_key_id}`)],
      };
    }
    const identifiers = ['old-home', 'new-home', 'elsewhere'].map((home) => name(`${home}.example`));
    const verdicts = async (order: object) => {
      const { caa } = await explained({ identifiers, ...order }, moved);
      return caa.map(({ allowed }: { allowed: boolean }) => allowed);
    };
    expect(await verdicts({ acme_key_id })).toEqual([true, true, false]);
    expect(await verdicts({ acme_key_id: stranger })).toEqual([false, false, false]);
    expect(await verdicts({})).toEqual([false, false, false]);
  });

  test('CAA-13: is not looked up for accounts whose orders are approved at once', async () => {
    const acme_key_id = await givenAccount({ order_validations: 'auto_approve' });
    const asked = dns.queries.length;
    const body = await explained({ identifiers: [name('theirs.example')], acme_key_id });
    expect(body).toMatchObject({ would_be_accepted: true, caa: [] });
    expect(ruleOf(body, 'caa')).toMatchObject({
      outcome: 'not_applicable',
      detail: expect.stringMatching(/without a challenge/),
    });
    expect(dns.queries.length).toBe(asked);
  });

  test('CAA-12: is not looked up for addresses, nor for names that are none', async () => {
    const asked = dns.queries.length;
    const body = await explained({ identifiers: [{ type: 'ip', value: '10.0.0.1' }, name('a..b')] });
    expect(ruleOf(body, 'caa')).toMatchObject({ outcome: 'not_applicable', detail: 'There is no DNS name.' });
    expect(dns.queries.length).toBe(asked);
  });

  test('CAA-9, SEC-13: of 100 names each is looked up, and the one that forbids is found wherever it stands', async () => {
    const identifiers = Array.from({ length: 100 }, (_, index) => name(`n${index}.ours.example`));
    identifiers[63] = name('theirs.example');
    const asked = dns.queries.length;
    const { caa } = await explained({ identifiers });
    expect(caa.map((one: { name: string }) => one.name)).toEqual(identifiers.map(({ value }) => value));
    expect(caa.filter(({ allowed }: { allowed: boolean }) => !allowed)).toMatchObject([{ name: 'theirs.example' }]);
    const names = new Set(dns.queries.slice(asked).map((query) => query.name));
    expect(identifiers.filter(({ value }) => !names.has(value))).toEqual([]);
  });

  test('of a zone with very much in it shows a bounded part', async () => {
    zone['huge.example'] = { caa: Array.from({ length: 30 }, () => issue('x'.repeat(600))) };
    const { caa } = await explained({ identifiers: [name('huge.example')] });
    expect(caa[0].looked_up[0].records).toHaveLength(20);
    expect(caa[0].looked_up[0].records[0].value).toHaveLength(500);
  });
});

describe('a question that cannot be asked', () => {
  test.each<[string, object, string]>([
    ['without identifiers', {}, 'identifiers required'],
    ['with none', { identifiers: [] }, 'identifiers bad_count'],
    ['with 101', { identifiers: Array.from({ length: 101 }, () => name('a.example')) }, 'identifiers bad_count'],
    ['with texts for identifiers', { identifiers: ['a.example'] }, 'identifiers[0] wrong_type'],
    ['with an identifier without type', { identifiers: [{ value: 'a.example' }] }, 'identifiers[0].type required'],
    ['with an unknown field', { identifiers: [name('a.example')], remote: '1.2.3.4' }, 'remote unknown_field'],
    [
      'with an address that is none',
      { identifiers: [name('a.example')], remote_ip: 'localhost' },
      'remote_ip bad_format',
    ],
    [
      'with a time without a zone',
      { identifiers: [name('a.example')], not_after: '2026-01-01T00:00:00' },
      'not_after bad_format',
    ],
    ['with another key type', { identifiers: [name('a.example')], key_type: 'dsa' }, 'key_type not_allowed'],
    [
      'with an id of another kind',
      { identifiers: [name('a.example')], acme_key_id: 'dir_01h455vb4pex5vsknk084sn02q' },
      'acme_key_id bad_format',
    ],
  ])('%s is 422 at its field', async (_what, order, problem) => {
    const answer = await explain(order);
    expect(answer).toMatchObject({ status: 422, body: { code: 'invalid' } });
    expect(answer.body.errors.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`)).toEqual([
      problem,
    ]);
  });

  test('for an account that nothing has, or of another directory, is 422', async () => {
    const other = await givenDirectory(api.ca, { issuer });
    const unknown = formatId('acmk', newUuid(api.ca.clock.now()));
    for (const acme_key_id of [unknown, await givenAccount({}, other)]) {
      const answer = await explain({ identifiers: [name('a.example')], acme_key_id });
      expect(answer).toMatchObject({
        status: 422,
        body: { code: 'unknown_reference', errors: [{ field: 'acme_key_id', code: 'unknown_reference' }] },
      });
      expect(answer.body.detail).toContain(acme_key_id);
    }
  });

  test('about an unknown directory is 404', async () => {
    const id = newUuid(api.ca.clock.now());
    expect(await explain({ identifiers: [name('a.example')] }, { id })).toMatchObject({ status: 404 });
  });

  test('by a caller who may only read is 403', async () => {
    const path = `/v1/directories/${formatId('dir', directory.id)}/explain`;
    expect(await api.post(path, { identifiers: [name('a.example')] }, { as: 'read' })).toMatchObject({ status: 403 });
  });
});

test('optional fields may be null', async () => {
  const nothing = {
    acme_key_id: null,
    not_before: null,
    not_after: null,
    remote_ip: null,
    key_type: null,
    profile: null,
  };
  expect((await explained({ identifiers: [name('a.ours.example')], ...nothing })).would_be_accepted).toBe(true);
});

test('a change of the directory, made on another replica, binds the next explanation', async () => {
  const changing = await givenDirectory(api.ca, { issuer, allowed_dns_identifiers: ['**.ours.example'] });
  const order = { identifiers: [name('a.ours.example')] };
  await using database = openDatabase({ url: api.databaseUrl });
  const replica = { ...api.ca, database };
  const verdicts: string[][] = [failing(await explained(order, changing))];
  for (const allowed_dns_identifiers of [['**.theirs.example'], ['*.ours.example']]) {
    await updateDirectory(replica, admin, changing.id, { allowed_dns_identifiers });
    verdicts.push(failing(await explained(order, changing)));
  }
  expect(verdicts.map((rules) => rules.includes('names_allowed'))).toEqual([false, true, false]);
});

test('an explanation changes nothing', async () => {
  const { db } = api.ca.database;
  const tables = ['directories', 'orders', 'authorizations', 'acme_keys', 'audit', 'issued_certs'] as const;
  const state = () => Promise.all(tables.map((table) => db.selectFrom(table).selectAll().orderBy('id').execute()));
  const before = await state();
  await explained({ identifiers: [name('a.ours.example'), name('theirs.example')] });
  expect(await state()).toEqual(before);
});
