// The contract of /v1/signing_certs: generating, looking, renaming, deleting.
import { X509Certificate } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newUuid, parseId } from '../../src/core/ids.ts';
import { keyTypes } from '../../src/x509/algorithms.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { testApi } from '../support/api-client.ts';
import { DAY_MS } from '../support/clock.ts';
import { foreignCa } from '../support/foreign-ca.ts';
import { exampleRows, insertRows } from '../support/rows.ts';

const MINUTE_MS = 60_000;
const PATH = '/v1/signing_certs';

let api: Awaited<ReturnType<typeof testApi>>;
beforeAll(async () => {
  api = await testApi();
});
afterAll(() => api[Symbol.asyncDispose]());

const create = (fields: object) =>
  api.post(PATH, { signing_cert: { key_availability: 'online', private_key_type: 'ec_256', ...fields } });
const root = (fields: object = {}) => create({ cert_type: 'root', name: 'Corp Root', ...fields });
const intermediate = (parentId: string, fields: object = {}) =>
  create({ cert_type: 'intermediate', name: 'Corp Issuing', signing_cert_id: parentId, ...fields });
const made = async (answer: ReturnType<typeof create>): Promise<string> => (await answer).body.id;
const problems = ({ body }: Awaited<ReturnType<typeof create>>) =>
  body.errors.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`);
const certificateOf = (pem: string) => parseCertificate(new X509Certificate(pem).raw);
const uuidOf = (id: string) => parseId('scrt', id) ?? expect.fail(`${id} is no id`);

/** RSA keys take long to make: those of variant 1 are parents in variant 2. */
const roots = new Map<string, { readonly id: string; readonly public_cert: string }>();

describe('variant 1, a generated root', () => {
  test.each(keyTypes)('G-33: of type %s signs itself, and has an O beside its CN', async (keyType) => {
    const { status, body, headers } = await root({ private_key_type: keyType });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`${PATH}/${body.id}`);
    expect(body).toEqual({
      id: expect.stringMatching(/^scrt_/),
      object: 'signing_cert',
      cert_type: 'root',
      key_availability: 'online',
      key_type: keyType,
      public_cert: expect.stringMatching(/^-----BEGIN CERTIFICATE-----\n/),
      name: 'Corp Root',
      expires_at: '2046-05-17T11:59:59Z',
      signing_cert_id: null,
      in_use: false,
      subject: { CN: 'Corp Root', O: 'Corp Root' },
      path_length: null,
      name_constraints: null,
      revoked_at: null,
      revoke_reason: null,
    });
    const certificate = new X509Certificate(body.public_cert);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(parseCertificate(certificate.raw)).toMatchObject({ keyType, version: 3 });
    expect((await api.get(`${PATH}/${body.id}`)).body).toEqual(body);
    roots.set(keyType, body);
  });

  test('lives 20 years, begins five minutes ago, and holds the extensions of a root and nothing else', async () => {
    const { body } = await root();
    const certificate = certificateOf(body.public_cert);
    expect(certificate.notBefore).toEqual(new Date('2026-05-17T11:55:00Z'));
    expect(certificate.notAfter).toEqual(new Date('2046-05-17T11:59:59Z'));
    expect(certificate.serial).toHaveLength(17);
    expect(certificate.extensions).toMatchObject({
      basicConstraints: { ca: true, pathLength: undefined },
      keyUsage: ['keyCertSign', 'cRLSign'],
    });
    expect(certificate.extensions.all.map(({ oid, critical }) => `${oid} ${critical}`)).toEqual([
      '2.5.29.19 true',
      '2.5.29.15 true',
      '2.5.29.14 false',
    ]);
  });

  test('has the subject, days, path length and name constraints that were asked for', async () => {
    const subject = { CN: 'Acme Root', O: 'Acme', OU: 'Ops', L: 'Köln', ST: 'NRW', C: 'DE' };
    const constraints = { permitted_dns: ['Corp.example', '.corp.test'], excluded_ip: ['10.0.0.0/8', 'fd00::1'] };
    const { body } = await root({ subject, valid_days: 30, path_length: 3, name_constraints: constraints });
    expect(body).toMatchObject({
      name: 'Corp Root',
      subject,
      path_length: 3,
      expires_at: '2026-06-16T11:59:59Z',
      name_constraints: { permitted_dns: ['corp.example', '.corp.test'], excluded_ip: ['10.0.0.0/8', 'fd00::1'] },
    });
    const { extensions } = certificateOf(body.public_cert);
    expect(extensions.nameConstraints).toMatchObject({
      permittedDns: ['corp.example', '.corp.test'],
      excludedDns: [],
      permittedIp: [],
      excludedIp: ['10.0.0.0/8', 'fd00::1/128'],
    });
    expect(extensions.all.find(({ oid }) => oid === '2.5.29.30')?.critical).toBe(true);
    expect(extensions.basicConstraints?.pathLength).toBe(3);
  });

  test('takes its name from subject.CN, and each of them fills in for the other', async () => {
    expect((await root({ name: undefined, subject: { CN: 'By CN' } })).body).toMatchObject({
      name: 'By CN',
      subject: { CN: 'By CN', O: 'By CN' },
    });
    expect((await root({ name: 'By name', subject: { O: 'Acme' } })).body.subject).toEqual({
      CN: 'By name',
      O: 'Acme',
    });
  });

  test('may have a long name when the subject is shorter', async () => {
    const name = 'n'.repeat(200);
    const refused = await root({ name });
    expect(refused.status).toBe(422);
    expect(problems(refused)).toEqual(['signing_cert.subject.CN bad_length', 'signing_cert.subject.O bad_length']);
    expect((await root({ name, subject: { CN: 'Short', O: 'Short' } })).body.name).toBe(name);
  });

  test('treats empty name constraints as none', async () => {
    const { body } = await root({ name_constraints: { permitted_dns: [] } });
    expect(body.name_constraints).toBeNull();
    expect(certificateOf(body.public_cert).extensions.nameConstraints).toBeUndefined();
  });
});

describe('variant 2, a generated intermediate', () => {
  test.each([
    ['ec_256', 'rsa_2048'],
    ['ec_384', 'ec_521'],
    ['ec_521', 'ec_384'],
    ['rsa_2048', 'ec_256'],
    ['rsa_3072', 'ec_256'],
    ['rsa_4096', 'ec_256'],
  ])('below a root of type %s, of type %s, is signed by it', async (parentType, keyType) => {
    const parent = roots.get(parentType) ?? (await root({ private_key_type: parentType })).body;
    const { status, body } = await intermediate(parent.id, { private_key_type: keyType });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      cert_type: 'intermediate',
      key_type: keyType,
      signing_cert_id: parent.id,
      path_length: 0,
      expires_at: '2036-05-17T11:59:59Z',
      subject: { CN: 'Corp Issuing', O: 'Corp Issuing' },
      in_use: false,
    });
    const [own, issuer] = [new X509Certificate(body.public_cert), new X509Certificate(parent.public_cert)];
    expect(own.verify(issuer.publicKey)).toBe(true);
    expect(own.checkIssued(issuer)).toBe(true);
    expect((await api.get(`${PATH}/${parent.id}`)).body.in_use).toBe(true);
  });

  test('names its issuer and says where its revocation is published', async () => {
    const parent = (await root()).body;
    const { extensions } = certificateOf((await intermediate(parent.id)).body.public_cert);
    expect(extensions).toMatchObject({
      authorityKeyIdentifier: certificateOf(parent.public_cert).extensions.subjectKeyIdentifier,
      crlUrls: [`http://pki.corp.example/crl/${parent.id}.crl`],
      ocspUrls: [`http://pki.corp.example/ocsp/${parent.id}`],
      caIssuersUrls: [`http://pki.corp.example/ca/${parent.id}.crt`],
      keyUsage: ['keyCertSign', 'cRLSign'],
    });
    expect(extensions.extendedKeyUsage).toBeUndefined();
  });

  test('never lives longer than its parent, neither by default nor when asked', async () => {
    const parent = (await root({ valid_days: 20 })).body;
    expect((await intermediate(parent.id)).body.expires_at).toBe(parent.expires_at);
    expect((await intermediate(parent.id, { valid_days: 400 })).body.expires_at).toBe(parent.expires_at);
    expect((await intermediate(parent.id, { valid_days: 5 })).body.expires_at).toBe('2026-05-22T11:59:59Z');
  });

  test('keeps the path length of its whole chain', async () => {
    const top = await made(root({ path_length: 2 }));
    const tooLong = await intermediate(top, { path_length: 2 });
    expect([tooLong.status, problems(tooLong)]).toEqual([422, ['signing_cert.path_length out_of_range']]);
    const middle = await made(intermediate(top, { path_length: 1 }));
    expect((await intermediate(middle, { path_length: 1 })).status).toBe(422);
    const last = await made(intermediate(middle, { path_length: 0 }));
    const below = await intermediate(last);
    expect([below.status, below.body.code]).toEqual([422, 'cannot_sign']);
  });

  test('cannot permit what its chain forbids', async () => {
    const constraints = {
      permitted_dns: ['corp.example'],
      excluded_dns: ['dev.corp.example'],
      permitted_ip: ['10.0.0.0/8'],
    };
    const top = await made(root({ path_length: 2, name_constraints: constraints }));
    const middle = await made(intermediate(top, { path_length: 1 }));
    const inside = { permitted_dns: ['shop.corp.example'], permitted_ip: ['10.9.0.0/16'], excluded_ip: ['0.0.0.0/0'] };
    expect((await intermediate(middle, { name_constraints: inside })).status).toBe(201);
    const outside = {
      permitted_dns: ['corp.example', 'x.dev.corp.example', 'example', '.corp.example'],
      permitted_ip: ['10.1.2.3', '0.0.0.0/0', 'fd00::/8'],
    };
    expect(problems(await intermediate(middle, { name_constraints: outside }))).toEqual([
      'signing_cert.name_constraints.permitted_dns[1] outside_parent',
      'signing_cert.name_constraints.permitted_dns[2] outside_parent',
      'signing_cert.name_constraints.permitted_ip[1] outside_parent',
      'signing_cert.name_constraints.permitted_ip[2] outside_parent',
    ]);
  });
});

describe('a parent that cannot sign', () => {
  const offlineRoot = async () => {
    const { publicCert } = await foreignCa();
    return made(
      api.post(PATH, { signing_cert: { cert_type: 'root', key_availability: 'offline', public_cert: publicCert } }),
    );
  };
  const changed = async (change: ReturnType<typeof sql>) => {
    const id = await made(root());
    await sql`update signing_certs set ${change} where id = ${uuidOf(id)}`.execute(api.ca.database.db);
    return id;
  };
  test.each<[string, string, () => Promise<string>]>([
    ['that is unknown', 'unknown_reference', async () => 'scrt_01h455vb4pex5vsknk084sn02q'],
    ['that is deleted', 'unknown_reference', () => changed(sql`deleted_at = now()`)],
    ['that is offline', 'cannot_sign', offlineRoot],
    ['that is revoked', 'cannot_sign', () => changed(sql`state = 'revoked', revoked_at = now(), reason = 1`)],
    [
      'that waits for its certificate',
      'cannot_sign',
      () => made(create({ cert_type: 'intermediate', name: 'Waiting' })),
    ],
  ])('%s is refused as %s', async (_, code, parent) => {
    const { status, body } = await intermediate(await parent());
    expect(status).toBe(422);
    expect(body).toMatchObject({ code, errors: [{ field: 'signing_cert.signing_cert_id', code }] });
  });

  test('that expired is refused, one second before it is not', async () => {
    await using later = await testApi();
    const fields = { key_availability: 'online', private_key_type: 'ec_256', name: 'x' };
    const parent = await later.post(PATH, { signing_cert: { ...fields, cert_type: 'root', valid_days: 1 } });
    const below = { signing_cert: { ...fields, cert_type: 'intermediate', signing_cert_id: parent.body.id } };
    later.ca.clock.advance(DAY_MS - 2_000);
    expect((await later.post(PATH, below)).status).toBe(201);
    later.ca.clock.advance(1_000);
    expect((await later.post(PATH, below)).body.code).toBe('cannot_sign');
  });
});

describe('fields that do not belong together', () => {
  test.each<[string, object, readonly string[]]>([
    ['no type of key', { private_key_type: undefined, name: 'x' }, ['private_key_type required']],
    ['no name', {}, ['name required']],
    [
      'a parent of a root',
      { name: 'x', signing_cert_id: 'scrt_01h455vb4pex5vsknk084sn02q' },
      ['signing_cert_id not_applicable'],
    ],
    [
      'a key without a certificate',
      { private_key_type: undefined, private_key: 'x' },
      ['public_cert required', 'private_key wrong_pem'],
    ],
    [
      'bad constraints beside a missing type',
      {
        name: 'x',
        private_key_type: undefined,
        name_constraints: { permitted_dns: ['xn--a.example'], excluded_ip: ['10.0.0.1/8'] },
      },
      [
        'private_key_type required',
        'name_constraints.permitted_dns[0] bad_format',
        'name_constraints.excluded_ip[0] bad_format',
      ],
    ],
    ['an unknown field', { name: 'x', valid_day: 3 }, ['valid_day unknown_field']],
    [
      'everything at once',
      { cert_type: 'leaf', private_key_type: 'ec_1', name: '', valid_days: 0, path_length: -1, subject: { C: 'de' } },
      [
        'cert_type not_allowed',
        'private_key_type not_allowed',
        'name bad_length',
        'subject.C bad_format',
        'valid_days out_of_range',
        'path_length out_of_range',
      ],
    ],
  ])('%s', async (_, fields, expected) => {
    const answer = await create({ cert_type: 'root', ...fields });
    expect(answer.status).toBe(422);
    expect(problems(answer).sort()).toEqual(expected.map((problem) => `signing_cert.${problem}`).sort());
  });

  test('read-only fields are ignored', async () => {
    const { status, body } = await root({ id: 'x', object: 'y', in_use: true, key_type: 'rsa_2048', expires_at: 'z' });
    expect(status).toBe(201);
    expect(body).toMatchObject({ in_use: false, key_type: 'ec_256' });
  });
});

describe('a list', () => {
  test('has every CA cert once, by id, without in_use, and takes both filters', async () => {
    await using fresh = await testApi();
    const post = async (fields: object) => {
      const online = { key_availability: 'online', private_key_type: 'ec_256', name: 'x', ...fields };
      const { body } = await fresh.post(PATH, { signing_cert: online });
      const { in_use: _, ...item } = body;
      fresh.ca.clock.advance(1_000);
      return item;
    };
    const roots = [await post({ cert_type: 'root' }), await post({ cert_type: 'root' })];
    const parent = { cert_type: 'intermediate', signing_cert_id: roots[0]?.id };
    const children = [await post(parent), await post(parent), await post(parent)];
    const list = async (query: string) => (await fresh.get(`${PATH}${query}`)).body;
    expect(await list('')).toEqual({ collection: [...roots, ...children], more_results: false });
    expect((await list('?cert_type=root')).collection).toEqual(roots);
    expect((await list('?cert_type=intermediate&direction=desc')).collection).toEqual(children.toReversed());
    expect((await list(`?signing_cert_id=${roots[0]?.id}`)).collection).toEqual(children);
    expect((await list(`?signing_cert_id=${roots[0]?.id}&cert_type=root`)).collection).toEqual([]);
    expect((await list(`?signing_cert_id=${roots[1]?.id}`)).collection).toEqual([]);
    expect(await list(`?limit=2&after=${roots[1]?.id}`)).toEqual({
      collection: children.slice(0, 2),
      more_results: true,
    });
  });

  test.each([
    ['cert_type=leaf', 'invalid_query'],
    ['signing_cert_id=dir_01h455vb4pex5vsknk084sn02q', 'invalid_query'],
    ['sort=name', 'invalid_query'],
    ['after=scrt_01h455vb4pex5vsknk084sn02q', 'unknown_cursor'],
  ])('%s is refused as %s', async (query, code) => {
    const { status, body } = await api.get(`${PATH}?${query}`);
    expect([status, body.code]).toEqual([400, code]);
  });
});

describe('an update', () => {
  const update = (id: string, fields: object) => api.put(`${PATH}/${id}`, { signing_cert: fields });

  test('renames, and leaves the certificate as it is', async () => {
    const { body } = await root();
    const renamed = await update(body.id, { name: 'Erste Wurzel' });
    expect([renamed.status, renamed.body]).toEqual([200, { ...body, name: 'Erste Wurzel' }]);
    expect((await update(body.id, { name: null })).body).toEqual(body);
  });

  test('of nothing, or with the reply itself, changes nothing and leaves no record', async () => {
    const constraints = { permitted_dns: ['corp.example'], permitted_ip: ['10.0.0.0/8'] };
    const { body } = await root({ name_constraints: constraints, path_length: 1 });
    const below = await intermediate(body.id);
    for (const fields of [{}, body]) expect((await update(body.id, fields)).body).toEqual({ ...body, in_use: true });
    expect((await update(below.body.id, below.body)).body).toEqual(below.body);
    const records = await api.get(`/v1/audit_events?object_id=${body.id}`);
    expect(records.body.collection.map(({ action }: { action: string }) => action)).toEqual(['create']);
  });

  test('of anything else is refused as immutable, naming all of it, and the name stays', async () => {
    const { body } = await root();
    const other = await root();
    const refused = await update(body.id, {
      name: 'Other',
      cert_type: 'intermediate',
      key_availability: 'offline',
      signing_cert_id: other.body.id,
      subject: { CN: 'Other' },
      path_length: 4,
      name_constraints: { permitted_dns: ['x.example'] },
      public_cert: other.body.public_cert,
    });
    expect([refused.status, refused.body.code]).toEqual([422, 'immutable']);
    const fields = [
      'cert_type',
      'key_availability',
      'signing_cert_id',
      'subject',
      'path_length',
      'name_constraints',
      'public_cert',
    ];
    expect(problems(refused)).toEqual(fields.map((field) => `signing_cert.${field} immutable`));
    expect((await api.get(`${PATH}/${body.id}`)).body.name).toBe('Corp Root');
  });

  test('private_key and private_key_type cannot be sent', async () => {
    const refused = await update(await made(root()), { private_key: 'x', private_key_type: 'ec_256' });
    expect(problems(refused)).toEqual([
      'signing_cert.private_key unknown_field',
      'signing_cert.private_key_type unknown_field',
    ]);
  });

  test('by many at once: each succeeds or is told of the conflict, and no change is lost', async () => {
    const id = await made(root());
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => update(id, { name: `Name ${index}` })));
    const codes = answers.map(({ status, body }) => (status === 200 ? 'ok' : body.code));
    expect(new Set(codes).difference(new Set(['ok', 'conflict'])).size).toBe(0);
    const records: readonly { action: string; before: { name: string } }[] = (
      await api.get(`/v1/audit_events?object_id=${id}`)
    ).body.collection;
    const replaced = records.filter(({ action }) => action === 'update').map(({ before }) => before.name);
    expect(replaced).toHaveLength(codes.filter((code) => code === 'ok').length);
    // Each success was a change of what the one before had made.
    expect(new Set(replaced).size).toBe(replaced.length);
  });

  test('of what is not there is 404', async () => {
    expect((await update('scrt_01h455vb4pex5vsknk084sn02q', { name: 'x' })).status).toBe(404);
    expect((await update('scrt_x', { name: 'x' })).status).toBe(404);
  });
});

describe('a deletion', () => {
  const remove = (id: string) => api.delete(`${PATH}/${id}`);
  const isThere = async (id: string) => (await api.get(`${PATH}/${id}`)).status === 200;

  test('answers 202 without a body, and the CA cert is gone from all reads', async () => {
    const id = await made(root());
    const { status, text } = await remove(id);
    expect([status, text]).toEqual([202, '']);
    for (const request of [
      api.get(`${PATH}/${id}`),
      api.get(`${PATH}/${id}/csr`),
      api.put(`${PATH}/${id}`, { signing_cert: { name: 'x' } }),
      remove(id),
    ])
      expect((await request).status).toBe(404);
    const { collection } = (await api.get(`${PATH}?limit=200`)).body;
    expect(collection.map((item: { id: string }) => item.id)).not.toContain(id);
  });

  /** What uses a CA cert, and how it ceases to. */
  const users: readonly (readonly [string, (id: string) => Promise<() => Promise<unknown>>])[] = [
    [
      'a CA cert below it',
      async (id) => {
        const child = await made(intermediate(id));
        return () => remove(child);
      },
    ],
    [
      'a CA cert below it that is being made',
      async (id) => {
        const rows = exampleRows();
        const { der: _, ...row } = rows.signing_certs;
        const { db } = api.ca.database;
        await db
          .insertInto('signing_certs')
          .values({ ...row, parent_id: uuidOf(id), state: 'pending' })
          .execute();
        return () => db.deleteFrom('signing_certs').where('id', '=', row.id).execute();
      },
    ],
    ['a directory', (id) => seeded(id, ['directories'], sql`update directories set deleted_at = now()`)],
    [
      'an order that is being signed',
      (id) => seeded(id, ['directories', 'acme_keys', 'orders'], sql`update orders set state = 'invalid', tbs = null`),
    ],
    [
      'an issued cert, until it is revoked',
      (id) =>
        seeded(
          id,
          ['directories', 'acme_keys', 'issued_certs'],
          sql`
          update issued_certs set state = 'revoked', revoked_at = now(), reason = 0`,
        ),
    ],
  ];

  async function seeded(id: string, tables: Parameters<typeof insertRows>[2], end: ReturnType<typeof sql>) {
    const rows = exampleRows();
    const signing_cert_id = uuidOf(id);
    const { db } = api.ca.database;
    const order = {
      state: 'processing' as const,
      signing_cert_id,
      issued_cert_id: newUuid(new Date()),
      serial: Buffer.of(1),
      tbs: Buffer.of(1),
      csr_sha256: Buffer.of(1),
      key_thumbprint: Buffer.of(1),
      due_at: new Date(),
    };
    const directory = tables?.includes('orders') || tables?.includes('issued_certs');
    await insertRows(
      db,
      {
        ...rows,
        directories: { ...rows.directories, signing_cert_id, deleted_at: directory ? new Date() : null },
        orders: { ...rows.orders, ...order },
        issued_certs: { ...rows.issued_certs, signing_cert_id },
      },
      tables,
    );
    return () => end.execute(db);
  }

  test.each(users)('is refused while it is used by %s', async (_, use) => {
    const id = await made(root());
    const end = await use(id);
    expect((await api.get(`${PATH}/${id}`)).body.in_use).toBe(true);
    const refused = await remove(id);
    expect([refused.status, refused.body.code]).toEqual([422, 'in_use']);
    await end();
    expect((await api.get(`${PATH}/${id}`)).body.in_use).toBe(false);
    expect((await remove(id)).status).toBe(202);
  });

  test('an issued cert that has expired does not hold it', async () => {
    await using fresh = await testApi();
    const online = { key_availability: 'online', private_key_type: 'ec_256', name: 'x', cert_type: 'root' };
    const { id } = (await fresh.post(PATH, { signing_cert: online })).body;
    const rows = exampleRows();
    const ofCa = { signing_cert_id: uuidOf(id) };
    await insertRows(
      fresh.ca.database.db,
      {
        ...rows,
        directories: { ...rows.directories, ...ofCa, deleted_at: new Date() },
        issued_certs: {
          ...rows.issued_certs,
          ...ofCa,
          not_after: new Date(fresh.ca.clock.now().getTime() + MINUTE_MS),
        },
      },
      ['directories', 'acme_keys', 'issued_certs'],
    );
    expect((await fresh.delete(`${PATH}/${id}`)).status).toBe(422);
    fresh.ca.clock.advance(MINUTE_MS);
    expect((await fresh.delete(`${PATH}/${id}`)).status).toBe(202);
  });

  test('by many at once happens once', async () => {
    const id = await made(root());
    const statuses = (await Promise.all(Array.from({ length: 20 }, () => remove(id)))).map(({ status }) => status);
    expect(statuses.filter((status) => status === 202)).toHaveLength(1);
    expect(statuses.filter((status) => status === 404)).toHaveLength(19);
  });

  test('and the making of a child at once: never a child below a deleted parent', async () => {
    for (let round = 0; round < 10; round++) {
      const parent = await made(root());
      const [child, deletion] = await Promise.all([intermediate(parent), remove(parent)]);
      expect([child.status, deletion.status]).toEqual(child.status === 201 ? [201, 422] : [422, 202]);
      expect(await isThere(parent)).toBe(child.status === 201);
    }
  });
});

describe('a CA cert of a custom resource', () => {
  test('can be read and not changed, and says whose it is', async () => {
    const { body } = await root();
    await sql`
      update signing_certs set origin = 'kubernetes', origin_namespace = 'acmery-system', origin_name = 'corp-root',
             origin_uid = 'u', origin_generation = 1
       where id = ${uuidOf(body.id)}`.execute(api.ca.database.db);
    for (const refused of [
      await api.put(`${PATH}/${body.id}`, { signing_cert: { name: 'x' } }),
      await api.put(`${PATH}/${body.id}`, { signing_cert: { path_length: 4 } }),
      await api.delete(`${PATH}/${body.id}`),
    ]) {
      expect([refused.status, refused.body.code]).toEqual([422, 'managed_by_kubernetes']);
      expect(refused.body.detail).toContain('SigningCert acmery-system/corp-root');
    }
    expect((await api.put(`${PATH}/${body.id}`, { signing_cert: {} })).body).toEqual(body);
    expect((await intermediate(body.id)).status).toBe(201);
  });
});

test('every change is a record that says who made it', async () => {
  const id = await made(root());
  api.ca.clock.advance(1_000);
  await api.put(`${PATH}/${id}`, { signing_cert: { name: 'Later' } });
  api.ca.clock.advance(1_000);
  await api.delete(`${PATH}/${id}`);
  const { collection } = (await api.get(`/v1/audit_events?object_id=${id}&direction=asc`)).body;
  expect(collection).toMatchObject([
    {
      action: 'create',
      actor_kind: 'api_token',
      object_kind: 'signing_cert',
      after: { name: 'Corp Root', key_type: 'ec_256' },
    },
    { action: 'update', before: { name: 'Corp Root' }, after: { name: 'Later' } },
    { action: 'delete', before: { name: 'Later' } },
  ]);
});
