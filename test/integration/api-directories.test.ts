// The contract of /v1/directories over real HTTP and Postgres.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { formatId, newUuid, parseId } from '../../src/core/ids.ts';
import type { SingleSigningCertView } from '../../src/core/signing-certs.ts';
import { directoryFields } from '../../src/resources/fields.ts';
import { certificatePem } from '../../src/x509/certificate-pem.ts';
import { type ApiAnswer, testApi } from '../support/api-client.ts';
import { DAY_MS } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { spendToken } from '../support/given-acme-key.ts';
import { givenExternalBinding } from '../support/given-external-binding.ts';
import { givenIntermediate, givenRoot } from '../support/given-signing-cert.ts';
import { exampleRows } from '../support/rows.ts';
import { waitingQueries } from '../support/waiting.ts';

let api: Awaited<ReturnType<typeof testApi>>;
let root: SingleSigningCertView;
let issuing: SingleSigningCertView;
let otherIssuing: SingleSigningCertView;
let slug = '';
let slugs = 0;

beforeAll(async () => {
  api = await testApi();
  root = await givenRoot(api.ca);
  issuing = await givenIntermediate(api.ca, { parent: root });
  otherIssuing = await givenIntermediate(api.ca, { parent: root, name: 'Other Issuing' });
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(() => {
  slugs += 1;
  slug = `web-${slugs}`;
});

const scrt = ({ id }: { readonly id: string }) => formatId('scrt', id);
const minimal = () => ({ name: 'Web', signing_cert_id: scrt(issuing), slug });
const create = (fields: object = {}): Promise<ApiAnswer> =>
  api.post('/v1/directories', { directory: { ...minimal(), ...fields } });
const created = async (fields: object = {}) => {
  // Ids made at the same millisecond have no order.
  api.ca.clock.advance(1);
  const answer = await create(fields);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body;
};
const put = (id: string, fields: object, sent = {}) => api.put(`/v1/directories/${id}`, { directory: fields }, sent);
const rowOf = (id: string) =>
  api.ca.database.db
    .selectFrom('directories')
    .selectAll()
    .where('id', '=', parseId('dir', id) ?? '')
    .executeTakeFirstOrThrow();
const problemsOf = ({ body }: ApiAnswer) =>
  body.errors.map((problem: { field: string; code: string }) => `${problem.field} ${problem.code}`);

/** What the create response shows when only name, signing_cert_id and slug were sent. */
const defaults = {
  allowed_dns_identifiers: ['**'],
  allowed_ip_identifiers: ['0.0.0.0/0', '::/0'],
  cert_min_days: 2,
  cert_max_days: 97,
  on_missing_caa: 'pass',
  registration_mode: 'preregister',
  remote_ip_whitelist: [],
  profiles: ['server'],
  allowed_key_types: ['ec_256', 'ec_384', 'ec_521', 'rsa_2048', 'rsa_3072', 'rsa_4096'],
  terms_of_service: null,
  website: null,
  rollover_days: 7,
};

describe('create', () => {
  test('with name, CA cert and slug shows all defaults, the URL and the chain', async () => {
    const answer = await create();
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^dir_/),
      object: 'directory',
      ...minimal(),
      ...defaults,
      caa_tag: `${slug}.acme.corp.example`,
      directory_url: `https://acme.corp.example/acme/${slug}/directory`,
      cert_chain: [issuing.publicCert],
      root_cert: root.publicCert,
    });
    expect(answer.headers.get('location')).toBe(`/v1/directories/${answer.body.id}`);
  });

  test('takes every field', async () => {
    const fields = { ...every(), name: '  Web & "more" ü  ' };
    expect(await created(fields)).toMatchObject(fields);
  });

  test('keeps patterns and ranges in their canonical form, each once', async () => {
    const directory = await created({
      allowed_dns_identifiers: ['**.Corp.example.', '**.corp.example', 'xn--mnchen-3ya.example', '*', '*.lan'],
      allowed_ip_identifiers: ['10.0.0.1', '10.0.0.1/32', 'FD00:0::/16'],
      remote_ip_whitelist: ['::1/128', '192.0.2.0/24'],
    });
    expect(directory).toMatchObject({
      allowed_dns_identifiers: ['**.corp.example', 'xn--mnchen-3ya.example', '*', '*.lan'],
      allowed_ip_identifiers: ['10.0.0.1', 'fd00::/16'],
      remote_ip_whitelist: ['::1', '192.0.2.0/24'],
    });
  });

  test('may allow nothing', async () => {
    const nothing = { allowed_dns_identifiers: [], allowed_ip_identifiers: [] };
    expect(await created(nothing)).toMatchObject(nothing);
  });

  test('ignores read-only fields of any value', async () => {
    const directory = await created({
      id: 7,
      object: 'x',
      directory_url: 'https://evil.example',
      cert_chain: {},
      root_cert: 1,
    });
    expect(directory.directory_url).toBe(`https://acme.corp.example/acme/${slug}/directory`);
  });

  test.each(['name', 'slug', 'signing_cert_id'])('without %s is refused', async (field) => {
    const { [field]: _, ...rest } = minimal() as Record<string, unknown>;
    const answer = await api.post('/v1/directories', { directory: rest });
    expect(answer).toMatchObject({ status: 422, body: { code: 'invalid' } });
    expect(problemsOf(answer)).toEqual([`directory.${field} required`]);
  });

  test('a default caa_tag that is no DNS name must be given', async () => {
    const answer = await create({ slug: 'ab--c' });
    expect(answer).toMatchObject({ status: 422, body: { code: 'invalid' } });
    expect(problemsOf(answer)).toEqual(['directory.caa_tag required']);
    expect(answer.body.detail).toContain('ab--c.acme.corp.example');
    expect((await create({ slug: 'ab--c', caa_tag: 'ca.corp.example' })).status).toBe(201);
  });
});

/** A value for each writable field, none of them the default. */
const every = () => ({ ...fixed, slug: `${slug}-new`, signing_cert_id: scrt(otherIssuing) });
const fixed = {
  name: 'Shops',
  allowed_dns_identifiers: ['**.corp.example', 'shop.example'],
  allowed_ip_identifiers: ['10.0.0.0/8', 'fd00::1'],
  caa_tag: 'ca.corp.example',
  cert_min_days: 3,
  cert_max_days: 30,
  on_missing_caa: 'fail',
  registration_mode: 'open',
  remote_ip_whitelist: ['192.0.2.0/24', '::1'],
  profiles: ['mtls', 'client'],
  allowed_key_types: ['ed25519', 'ec_256'],
  terms_of_service: 'https://corp.example/terms',
  website: 'http://corp.example/',
  rollover_days: 0,
};
const everyName = ['slug', 'signing_cert_id', ...Object.keys(fixed)];

describe('update', () => {
  test('is tried for every writable field', () => {
    const writable = Object.entries(directoryFields).filter(
      ([, { use, shown }]) => use === 'writable' && shown !== 'never',
    );
    expect(everyName.sort()).toEqual(writable.map(([name]) => name).sort());
  });

  test.each(everyName)('of %s changes that field alone, for the next read', async (field) => {
    const before = await created();
    const value = every()[field as keyof ReturnType<typeof every>];
    const answer = await put(before.id, { [field]: value });
    const expected = {
      ...before,
      [field]: value,
      ...(field === 'slug' && { directory_url: `https://acme.corp.example/acme/${slug}-new/directory` }),
      ...(field === 'signing_cert_id' && { cert_chain: [otherIssuing.publicCert] }),
    };
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.body).toEqual(expected);
    expect((await api.get(`/v1/directories/${before.id}`)).body).toEqual(expected);
  });

  test('of all fields at once', async () => {
    const { id } = await created();
    expect((await put(id, every())).body).toMatchObject(every());
  });

  test('of an optional URL back to null', async () => {
    const { id } = await created({ website: 'https://corp.example' });
    expect((await put(id, { website: null })).body.website).toBeNull();
  });

  test('with nothing, or with what is there already, changes nothing', async () => {
    const directory = await created();
    for (const fields of [{}, directory]) {
      const answer = await put(directory.id, fields);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual(directory);
    }
    expect((await rowOf(directory.id)).version).toBe(1);
    const { body } = await api.get(`/v1/audit_events?object_id=${directory.id}`);
    expect(body.collection).toHaveLength(1);
  });

  test.each([
    [{ cert_min_days: 98 }, 'directory.cert_min_days'],
    [{ cert_max_days: 1 }, 'directory.cert_max_days'],
  ])('%j is held against the limit that stands', async (fields, field) => {
    const { id } = await created();
    const answer = await put(id, fields);
    expect(answer).toMatchObject({ status: 422, body: { code: 'invalid' } });
    expect(problemsOf(answer)).toEqual([`${field} out_of_range`]);
  });

  test('of the CA cert notes a rollover, and no other change does', async () => {
    const { id } = await created();
    await put(id, { name: 'Renamed', signing_cert_id: scrt(issuing) });
    expect((await rowOf(id)).rollover_at).toBeNull();
    await put(id, { signing_cert_id: scrt(otherIssuing) });
    expect((await rowOf(id)).rollover_at).toEqual(api.ca.clock.now());
  });

  test('of an unknown directory is 404', async () => {
    const id = formatId('dir', newUuid(api.ca.clock.now()));
    expect(await put(id, {})).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  test('the loser of two at once is told, and nothing of its change is kept', async () => {
    const { id } = await created();
    const uuid = parseId('dir', id) ?? '';
    const { db } = api.ca.database;
    const both = await db.transaction().execute(async (tx) => {
      await tx.selectFrom('directories').select('id').where('id', '=', uuid).forUpdate().execute();
      const puts = [put(id, { name: 'First', website: 'https://first.example' }), put(id, { name: 'Second' })];
      await waitingQueries(db, 2);
      return puts;
    });
    const answers = await Promise.all(both);
    const [winner, loser] = [...answers].sort((a, b) => a.status - b.status);
    expect(winner?.status).toBe(200);
    expect(loser).toMatchObject({ status: 422, body: { code: 'conflict' } });
    expect((await api.get(`/v1/directories/${id}`)).body).toEqual(winner?.body);
  });
});

describe('a field', () => {
  const tooMany = Array.from({ length: 501 }, (_, index) => `n${index}.example`);
  test.each<[string, unknown, string]>([
    ['name', '', 'bad_length'],
    ['name', 'x'.repeat(201), 'bad_length'],
    ['name', 'a\nb', 'bad_format'],
    ['name', null, 'wrong_type'],
    ['slug', '', 'bad_length'],
    ['slug', 'a'.repeat(64), 'bad_length'],
    ['slug', '-web', 'bad_format'],
    ['slug', 'web-', 'bad_format'],
    ['slug', 'Web', 'bad_format'],
    ['slug', 'we_b', 'bad_format'],
    ['slug', 'we.b', 'bad_format'],
    ['slug', null, 'wrong_type'],
    ['signing_cert_id', 'dir_01h455vb4pex5vsknk084sn02q', 'bad_format'],
    ['signing_cert_id', null, 'wrong_type'],
    ['caa_tag', '*.corp.example', 'bad_format'],
    ['caa_tag', '10.0.0.1', 'bad_format'],
    ['caa_tag', '', 'bad_length'],
    ['cert_min_days', -1, 'out_of_range'],
    ['cert_min_days', 1.5, 'wrong_type'],
    ['cert_max_days', 3651, 'out_of_range'],
    ['cert_max_days', '90', 'wrong_type'],
    ['rollover_days', 366, 'out_of_range'],
    ['rollover_days', -1, 'out_of_range'],
    ['on_missing_caa', 'maybe', 'not_allowed'],
    ['registration_mode', 'closed', 'not_allowed'],
    ['profiles', [], 'bad_count'],
    ['profiles', ['server', 'server'], 'duplicate'],
    ['allowed_key_types', [], 'bad_count'],
    ['terms_of_service', 'ftp://corp.example', 'bad_format'],
    ['website', 'corp.example', 'bad_format'],
    ['allowed_dns_identifiers', '**', 'wrong_type'],
    ['allowed_dns_identifiers', tooMany, 'bad_count'],
    ['reuse_slug', 'yes', 'wrong_type'],
    ['cert_min_day', 1, 'unknown_field'],
  ])('%s of %j is refused on create and update', async (field, value, code) => {
    const { id } = await created();
    slug = `${slug}-x`;
    for (const answer of [await create({ [field]: value }), await put(id, { [field]: value })]) {
      expect(answer).toMatchObject({ status: 422, body: { code: 'invalid' } });
      expect(problemsOf(answer)).toEqual([`directory.${field} ${code}`]);
    }
  });

  test.each<[string, unknown]>([
    ['name', 'x'.repeat(200)],
    ['slug', 'a'.repeat(63)],
    ['slug', 'z'],
    ['slug', '0-9'],
    ['cert_max_days', 3650],
    ['rollover_days', 365],
    ['allowed_dns_identifiers', tooMany.slice(1)],
    ['profiles', ['client', 'mtls', 'server']],
  ])('%s may go to its bound', async (field, value) => {
    expect((await created({ [field]: value }))[field]).toEqual(value);
  });

  test.each([0, 3650])('equal limits of %i days are fine', async (days) => {
    expect(await created({ cert_min_days: days, cert_max_days: days })).toMatchObject({ cert_min_days: days });
  });

  test.each([
    '',
    'a..b',
    '*a.example',
    'a*.example',
    '*.*.example',
    'x.*.example',
    '***',
    '**.',
    '.example',
    '***.a',
    'münchen.example',
    '10.0.0.1',
    'a_b.example',
    'xn--ls8h.example',
  ])('DNS pattern %j is refused at its place in the list', async (pattern) => {
    const answer = await create({ allowed_dns_identifiers: ['**.ok.example', pattern] });
    expect(answer).toMatchObject({ status: 422, body: { code: 'invalid' } });
    expect(answer.body.errors[0].field).toBe('directory.allowed_dns_identifiers[1]');
  });

  test('a pattern with other letters is told in its A-label form', async () => {
    const answer = await create({ allowed_dns_identifiers: ['**.münchen.example'] });
    expect(answer.body.errors[0].message).toContain('**.xn--mnchen-3ya.example');
  });

  test.each(['10.0.0.0/33', '10.0.0.1/8', 'localhost', 'fe80::1%eth0', '::ffff:10.0.0.1', '10.0.0', '1.2.3.4/'])(
    'range %j is refused at its place in either list',
    async (range) => {
      for (const field of ['allowed_ip_identifiers', 'remote_ip_whitelist']) {
        const answer = await create({ [field]: ['10.0.0.0/8', range] });
        expect(answer).toMatchObject({ status: 422, body: { code: 'invalid' } });
        expect(problemsOf(answer)).toEqual([`directory.${field}[1] bad_format`]);
      }
    },
  );

  test('all problems come at once: those of the schema, then those of meaning', async () => {
    const schema = await create({ slug: 'Not A Slug', cert_max_days: 'x', on_missing_caa: 1, foo: 1 });
    expect(problemsOf(schema).sort()).toEqual([
      'directory.cert_max_days wrong_type',
      'directory.foo unknown_field',
      'directory.on_missing_caa wrong_type',
      'directory.slug bad_format',
    ]);
    const meaning = await create({
      allowed_dns_identifiers: ['xn--ls8h.example'],
      remote_ip_whitelist: ['10.0.0.1/8'],
      cert_min_days: 100,
      slug: 'ab--c',
    });
    expect(problemsOf(meaning)).toEqual([
      'directory.allowed_dns_identifiers[0] bad_format',
      'directory.remote_ip_whitelist[0] bad_format',
      'directory.caa_tag required',
      'directory.cert_min_days out_of_range',
    ]);
  });
});

describe('the CA cert', () => {
  /** A CA cert as its row; only what the directory looks at matters. */
  const givenRow = async (columns: object): Promise<string> => {
    const row = { ...exampleRows().signing_certs, name: 'Odd One', ...columns };
    row.serial = Buffer.from(row.id);
    await api.ca.database.db.insertInto('signing_certs').values(row).execute();
    return formatId('scrt', row.id);
  };
  const noCertificate = { der: null, subject_der: null, ski: null, serial: null, not_before: null, not_after: null };
  const now = new Date('2026-05-17T12:00:00Z');

  test.each<[string, object, string, RegExp]>([
    ['a root', { cert_type: 'root' }, 'cannot_sign', /^CA cert Odd One is a root, .*choose an online intermediate/],
    ['offline', { key_availability: 'offline', key_ref: null }, 'cannot_sign', /has its key offline/],
    [
      'waiting for its certificate',
      { state: 'pending', csr: Buffer.of(1), ...noCertificate },
      'cannot_sign',
      /has no certificate yet/,
    ],
    ['revoked', { state: 'revoked', revoked_at: now, reason: 0 }, 'cannot_sign', /is revoked/],
    ['expired', { not_after: now }, 'cannot_sign', /ended on 2026-05-17T12:00:00Z/],
    ['not yet valid', { not_before: new Date(now.getTime() + DAY_MS) }, 'cannot_sign', /begins only on 2026-05-18/],
    ['deleted', { deleted_at: now }, 'unknown_reference', /^There is no CA cert scrt_/],
    ['still being made', { state: 'pending', ...noCertificate }, 'unknown_reference', /^There is no CA cert scrt_/],
  ])('that is %s is refused on create and update', async (_what, columns, code, message) => {
    const { id } = await created();
    const signing_cert_id = await givenRow(columns);
    for (const answer of [await create({ slug: `${slug}-x`, signing_cert_id }), await put(id, { signing_cert_id })]) {
      expect(answer).toMatchObject({ status: 422, body: { code, detail: expect.stringMatching(message) } });
      expect(problemsOf(answer)).toEqual([`directory.signing_cert_id ${code}`]);
    }
    expect((await api.get(`/v1/directories/${id}`)).body.signing_cert_id).toBe(scrt(issuing));
  });

  test('that nothing has is refused', async () => {
    const answer = await create({ signing_cert_id: formatId('scrt', newUuid(now)) });
    expect(answer).toMatchObject({ status: 422, body: { code: 'unknown_reference' } });
  });

  test('that was revoked later does not hinder other changes', async () => {
    const signing_cert_id = await givenRow({ not_after: new Date(now.getTime() + DAY_MS) });
    const { id } = await created({ signing_cert_id });
    const uuid = parseId('scrt', signing_cert_id) ?? '';
    await api.ca.database.db
      .updateTable('signing_certs')
      .set({ state: 'revoked', revoked_at: now, reason: 0 })
      .where('id', '=', uuid)
      .execute();
    expect(await put(id, { name: 'Renamed', signing_cert_id })).toMatchObject({
      status: 200,
      body: { name: 'Renamed' },
    });
  });

  test('from elsewhere has no root to show', async () => {
    const directory = await created({ signing_cert_id: await givenRow({ der: Buffer.from('certificate') }) });
    expect(directory).toMatchObject({ root_cert: null, cert_chain: [certificatePem(Buffer.from('certificate'))] });
  });

  test('that is being deleted is waited for, and then unknown', async () => {
    const leaving = await givenIntermediate(api.ca, { parent: root });
    const { db } = api.ca.database;
    const waiting = await db.transaction().execute(async (tx) => {
      await tx.updateTable('signing_certs').set({ deleted_at: now }).where('id', '=', leaving.id).execute();
      const posted = create({ signing_cert_id: scrt(leaving) });
      await waitingQueries(db, 1);
      return [posted];
    });
    expect(await waiting[0]).toMatchObject({ status: 422, body: { code: 'unknown_reference' } });
  });
});

describe('lists', () => {
  test('show all fields but cert_chain and root_cert', async () => {
    const { cert_chain: _, root_cert: __, ...listed } = await created();
    const { body } = await api.get('/v1/directories?direction=desc&limit=1', { as: 'read' });
    expect(body).toEqual({ collection: [listed], more_results: true });
  });

  test('filter by CA cert, sort by id or name, page both ways', async () => {
    const issuer = await givenIntermediate(api.ca, { parent: root });
    const ids: string[] = [];
    for (const name of ['b', 'a', 'c', 'a']) {
      ids.push((await created({ name, slug: `${slug}-${ids.length}`, signing_cert_id: scrt(issuer) })).id);
    }
    const [b, a, c, secondA] = ids;
    const walk = async (query: string) => {
      const seen: string[] = [];
      let next: string | undefined = `/v1/directories?signing_cert_id=${scrt(issuer)}&limit=1&${query}`;
      while (next !== undefined) {
        const { body, headers }: ApiAnswer = await api.get(next);
        seen.push(...body.collection.map(({ id }: { id: string }) => id));
        next = /<(.*)>/.exec(headers.get('link') ?? '')?.[1];
      }
      return seen;
    };
    expect(await walk('')).toEqual([b, a, c, secondA]);
    expect(await walk('sort=id&direction=desc')).toEqual([secondA, c, a, b]);
    expect(await walk('sort=name')).toEqual([a, secondA, b, c]);
    expect(await walk('sort=name&direction=desc')).toEqual([c, b, secondA, a]);
    // Without the filter too.
    const { body } = await api.get(`/v1/directories?sort=name&limit=200`);
    const names = body.collection.map(({ name }: { name: string }) => name);
    expect(names).toEqual([...names].sort((one, other) => (one < other ? -1 : one > other ? 1 : 0)));
  });

  test('a page begins after a directory that was deleted meanwhile', async () => {
    const issuer = await givenIntermediate(api.ca, { parent: root });
    const [first, second] = [
      await created({ signing_cert_id: scrt(issuer) }),
      await created({ slug: `${slug}-2`, signing_cert_id: scrt(issuer) }),
    ];
    await api.delete(`/v1/directories/${first.id}`);
    const { body } = await api.get(`/v1/directories?signing_cert_id=${scrt(issuer)}&after=${first.id}`);
    expect(body.collection).toMatchObject([{ id: second.id }]);
  });

  test('of a CA cert that nothing has is empty', async () => {
    const { body } = await api.get(`/v1/directories?signing_cert_id=${formatId('scrt', newUuid(new Date()))}`);
    expect(body).toEqual({ collection: [], more_results: false });
  });

  test.each([
    ['sort=slug', 'invalid_query'],
    ['signing_cert_id=', 'invalid_query'],
    ['name=Web', 'invalid_query'],
    ['after=dir_01h455vb4pex5vsknk084sn02q', 'unknown_cursor'],
  ])('with %s are 400 %s', async (query, code) => {
    expect(await api.get(`/v1/directories?${query}`)).toMatchObject({ status: 400, body: { code } });
  });
});

describe('delete', () => {
  test('answers 202 once, and then 404 as everything else', async () => {
    const { id } = await created();
    expect(await api.delete(`/v1/directories/${id}`)).toMatchObject({ status: 202, text: '' });
    const answers = [
      await api.delete(`/v1/directories/${id}`),
      await api.get(`/v1/directories/${id}`),
      await put(id, { name: 'New' }),
    ];
    for (const answer of answers)
      expect(answer).toMatchObject({
        status: 404,
        body: { code: 'not_found', detail: `There is no directory ${id}.` },
      });
    const { body } = await api.get('/v1/directories?direction=desc&limit=200');
    expect(body.collection.map((directory: { id: string }) => directory.id)).not.toContain(id);
  });

  test('of several at once is done by one', async () => {
    const { id } = await created();
    const answers = await Promise.all(Array.from({ length: 10 }, () => api.delete(`/v1/directories/${id}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array.from({ length: 9 }, () => 404)]);
    const { body } = await api.get(`/v1/audit_events?object_id=${id}`);
    expect(body.collection).toHaveLength(2);
  });

  test('deletes the unused EAB tokens, and nothing else of what hangs on the directory', async () => {
    const { id } = await created();
    const directory = { id: parseId('dir', id) ?? '' };
    const { ca } = api;
    const unused = await givenExternalBinding(ca, directory, { name: 'Shop', key_id: `key-${slug}` });
    const declared = await givenExternalBinding(ca, directory);
    const used = await givenExternalBinding(ca, directory);
    const elsewhere = await givenExternalBinding(ca, {
      id: parseId('dir', (await created({ slug: `${slug}-2` })).id) ?? '',
    });
    const account = await spendToken(ca, used);
    const { db } = ca.database;
    await db
      .updateTable('external_bindings')
      .set({
        origin: 'kubernetes',
        origin_namespace: 'shop',
        origin_name: 'till',
        origin_uid: 'u1',
        origin_generation: 1,
      })
      .where('id', '=', declared.id)
      .execute();
    const orders = { ...exampleRows().orders, directory_id: directory.id, acme_key_id: account.id };
    await db.insertInto('orders').values(orders).execute();
    const heard: unknown[] = [];
    await using listener = ca.database.listen({ acmery_owned: (payload) => heard.push(JSON.parse(payload)) });
    await eventually('we listen', () => listener.isListening);

    expect(await api.delete(`/v1/directories/${id}`)).toMatchObject({ status: 202 });

    const gone = async (token: { readonly id: string }) =>
      (await api.get(`/v1/external_bindings/${formatId('eab', token.id)}`)).status === 404;
    expect(await Promise.all([unused, declared, used, elsewhere].map(gone))).toEqual([true, true, false, false]);
    const keys = await api.get(`/v1/acme_keys?directory_id=${id}`);
    expect(keys.body.collection).toMatchObject([{ id: formatId('acmk', account.id), state: 'valid' }]);
    const { state } = await db
      .selectFrom('orders')
      .select('state')
      .where('id', '=', orders.id)
      .executeTakeFirstOrThrow();
    expect(state).toBe('pending');
    const ofToken = await api.get(`/v1/audit_events?object_id=${formatId('eab', unused.id)}&direction=desc&limit=1`);
    expect(ofToken.body.collection).toMatchObject([
      { action: 'delete', before: { directory_id: id, name: 'Shop', key_id: `key-${slug}` }, after: null },
    ]);
    await eventually('the operator is told', () => heard.length > 0);
    expect(heard).toEqual([{ kind: 'external_binding', namespace: 'shop', name: 'till' }]);
  });

  test('and a token that is made at the same moment: there is none left', async () => {
    const { id } = await created();
    const { db } = api.ca.database;
    const racing = await db.transaction().execute(async (tx) => {
      await tx
        .selectFrom('directories')
        .select('id')
        .where('id', '=', parseId('dir', id) ?? '')
        .forUpdate()
        .execute();
      const deleting = api.delete(`/v1/directories/${id}`);
      await waitingQueries(db, 1);
      const making = api.post('/v1/external_bindings', { external_binding: { directory_id: id } });
      await waitingQueries(db, 2);
      return [deleting, making];
    });
    const [deleted, made] = await Promise.all(racing);
    expect(deleted?.status).toBe(202);
    if (made?.status === 201) expect((await api.get(`/v1/external_bindings/${made.body.id}`)).status).toBe(404);
    else expect(made).toMatchObject({ status: 422, body: { code: 'unknown_reference' } });
  });
});

describe('audit', () => {
  test('holds who did what, with the changed fields before and after', async () => {
    const { id } = await created();
    api.ca.clock.advance(1);
    const fields = { cert_max_days: 30, name: 'Web', signing_cert_id: scrt(otherIssuing) };
    await put(id, fields, { headers: { 'X-Request-Id': 'deploy-4711-a' } });
    api.ca.clock.advance(1);
    await api.delete(`/v1/directories/${id}`);
    const { body } = await api.get(`/v1/audit_events?object_id=${id}&direction=asc`);
    expect(body.collection).toMatchObject([
      {
        action: 'create',
        object_kind: 'directory',
        before: null,
        after: { slug, cert_max_days: 97, signing_cert_id: scrt(issuing) },
      },
      { action: 'update', request_id: 'deploy-4711-a', actor_kind: 'api_token' },
      { action: 'delete', before: { slug, cert_max_days: 30 }, after: null },
    ]);
    expect(body.collection[1].before).toEqual({ cert_max_days: 97, signing_cert_id: scrt(issuing) });
    expect(body.collection[1].after).toEqual({ cert_max_days: 30, signing_cert_id: scrt(otherIssuing) });
  });

  test('holds nothing of what was refused', async () => {
    const { id } = await created();
    await put(id, { cert_max_days: 1 });
    await put(id, { signing_cert_id: scrt(root) });
    const { body } = await api.get(`/v1/audit_events?object_id=${id}`);
    expect(body.collection).toHaveLength(1);
  });
});

describe('a directory of a custom resource', () => {
  const owned = async (orphaned_at: Date | null) => {
    const { id } = await created();
    await api.ca.database.db
      .updateTable('directories')
      .set({
        origin: 'kubernetes',
        origin_namespace: 'acmery-system',
        origin_name: slug,
        origin_uid: 'uid',
        origin_generation: 1,
        orphaned_at,
      })
      .where('id', '=', parseId('dir', id) ?? '')
      .execute();
    return id;
  };

  test('is read, and changed only in Kubernetes', async () => {
    const id = await owned(null);
    expect(await api.get(`/v1/directories/${id}`)).toMatchObject({ status: 200, body: { slug } });
    for (const answer of [await put(id, { name: 'New' }), await put(id, {}), await api.delete(`/v1/directories/${id}`)])
      expect(answer).toMatchObject({
        status: 422,
        body: {
          code: 'managed_by_kubernetes',
          detail: `This directory belongs to the custom resource Directory acmery-system/${slug}; change it there.`,
        },
      });
    expect(await rowOf(id)).toMatchObject({ name: 'Web', deleted_at: null });
  });

  test('that it left behind may be changed and deleted', async () => {
    const id = await owned(new Date());
    expect((await put(id, { name: 'New' })).body.name).toBe('New');
    expect((await api.delete(`/v1/directories/${id}`)).status).toBe(202);
  });

  test('is not changed either when it becomes one at the same moment', async () => {
    const { id } = await created();
    const { db } = api.ca.database;
    const [changing] = await db.transaction().execute(async (tx) => {
      const columns = { origin_namespace: 'acmery-system', origin_name: slug, origin_uid: 'uid', origin_generation: 1 };
      await tx
        .updateTable('directories')
        .set({ origin: 'kubernetes', ...columns })
        .where('id', '=', parseId('dir', id) ?? '')
        .execute();
      const changed = [put(id, { name: 'New' }), api.delete(`/v1/directories/${id}`)];
      await waitingQueries(db, 2);
      return [Promise.all(changed)];
    });
    for (const answer of (await changing) ?? [])
      expect(answer).toMatchObject({ status: 422, body: { code: 'managed_by_kubernetes' } });
  });
});
