// /v1/signing_certs: CA certs that exist already, and everything that a certificate or a key can be refused for.
import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { csrPem } from '../../src/x509/csr.ts';
import { encodeDer, oid, sequence, setOfOne, utf8 } from '../../src/x509/der-writer.ts';
import { basicConstraints, keyUsage, nameConstraints, subjectAltName } from '../../src/x509/extensions.ts';
import { oids } from '../../src/x509/oids.ts';
import { toPem } from '../../src/x509/pem.ts';
import { generatePrivateKey, pkcs8Of } from '../../src/x509/private-key.ts';
import { testApi } from '../support/api-client.ts';
import { type ForeignCa, type ForeignParts, foreignCa } from '../support/foreign-ca.ts';
import { aCsr } from '../unit/x509/builders.ts';

const PATH = '/v1/signing_certs';
/** NameConstraints that permit rfc822Name corp.example and no other mail addresses. */
const permittedMailDomain = Buffer.from(`3012a010300e810c${Buffer.from('corp.example').toString('hex')}`, 'hex');
let api: Awaited<ReturnType<typeof testApi>>;
let ownRoot: ForeignCa;
let ownRootId: string;

beforeAll(async () => {
  api = await testApi();
  ownRoot = await foreignCa({ subject: { CN: 'Held Root', O: 'Old', C: 'DE' }, pathLength: 2 });
  ownRootId = (await importOffline(ownRoot, { cert_type: 'root' })).body.id;
});
afterAll(() => api[Symbol.asyncDispose]());

const post = (fields: object) => api.post(PATH, { signing_cert: fields });
const importOffline = ({ publicCert }: Pick<ForeignCa, 'publicCert'>, fields: object = {}) =>
  post({ cert_type: 'intermediate', key_availability: 'offline', public_cert: publicCert, ...fields });
const importOnline = ({ publicCert, privateKey }: ForeignCa, fields: object = {}) =>
  post({
    cert_type: 'intermediate',
    key_availability: 'online',
    public_cert: publicCert,
    private_key: privateKey,
    ...fields,
  });
type Answer = Awaited<ReturnType<typeof post>>;
const problems = ({ body }: Answer) =>
  body.errors.map(
    ({ field, code }: { field: string; code: string }) => `${field.replace('signing_cert.', '')} ${code}`,
  );
const countOf = async () => (await api.get(`${PATH}?limit=200`)).body.collection.length;
const below = (parts: ForeignParts = {}) => foreignCa({ parent: ownRoot, ...parts });

describe('variant 3, a root with an offline key', () => {
  test('takes name, subject, key type and end from the certificate', async () => {
    const old = await foreignCa({ subject: { CN: 'Ancient', O: 'Acme', C: 'DE' }, keyType: 'ec_384', pathLength: 4 });
    const { status, body } = await importOffline(old, { cert_type: 'root' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      cert_type: 'root',
      key_availability: 'offline',
      key_type: 'ec_384',
      public_cert: old.publicCert,
      name: 'Ancient',
      expires_at: '2036-01-01T00:00:00Z',
      signing_cert_id: null,
      in_use: false,
      subject: { CN: 'Ancient', O: 'Acme', C: 'DE' },
      path_length: 4,
      name_constraints: null,
    });
  });

  test('keeps a name that is sent', async () => {
    expect((await importOffline(await foreignCa(), { cert_type: 'root', name: 'Mine' })).body.name).toBe('Mine');
  });

  test('without a common name is called by its whole subject', async () => {
    const old = await foreignCa({ subject: { O: 'Acme', C: 'DE' } });
    expect((await importOffline(old, { cert_type: 'root' })).body.name).toBe('O=Acme,C=DE');
  });

  test('without keyUsage may do everything, as openssl makes them', async () => {
    const old = await foreignCa({ extensions: [basicConstraints({ ca: true })] });
    expect((await importOffline(old, { cert_type: 'root' })).status).toBe(201);
  });

  test('shows the name constraints of the certificate', async () => {
    const constraints = {
      permittedDns: ['Corp.example', ''],
      excludedDns: [],
      permittedIp: ['10.0.0.1/32'],
      excludedIp: [],
    };
    const old = await foreignCa({ more: [nameConstraints(constraints)] });
    expect((await importOffline(old, { cert_type: 'root' })).body.name_constraints).toEqual({
      permitted_dns: ['corp.example', ''],
      permitted_ip: ['10.0.0.1'],
    });
  });
});

describe('variant 4, an intermediate with an online key', () => {
  test('can sign CA certs below it', async () => {
    const { status, body } = await importOnline(await below({ pathLength: 1 }), { signing_cert_id: ownRootId });
    expect(status).toBe(201);
    expect(body).toMatchObject({ key_availability: 'online', signing_cert_id: ownRootId, name: 'Old Issuing' });
    const child = await post({
      cert_type: 'intermediate',
      key_availability: 'online',
      private_key_type: 'ec_256',
      name: 'Below',
      signing_cert_id: body.id,
    });
    expect(child.status).toBe(201);
  });

  test('finds its parent among the CA certs here', async () => {
    expect((await importOnline(await below())).body.signing_cert_id).toBe(ownRootId);
    expect((await importOnline(await below(), { signing_cert_id: null })).body.signing_cert_id).toBe(ownRootId);
  });

  test('finds a parent whose name is longer than any index takes', async () => {
    const name = utf8(randomBytes(6_000).toString('base64'));
    const subject = encodeDer(sequence(setOfOne(sequence(oid(oids.organizationName), name))));
    const root = await foreignCa({ subject });
    const { status, body } = await importOffline(root, { cert_type: 'root', name: 'Long' });
    expect(status).toBe(201);
    expect((await importOnline(await foreignCa({ parent: root }))).body.signing_cert_id).toBe(body.id);
  });

  test('has none where the parent is elsewhere, or only bears its name', async () => {
    const elsewhere = await foreignCa({ subject: { CN: 'Held Root', O: 'Old', C: 'DE' } });
    expect((await importOnline(await foreignCa({ parent: elsewhere }))).body.signing_cert_id).toBeNull();
  });

  test('finds, of a parent that was renewed with its key, the certificate that allows it', async () => {
    const first = await foreignCa({ subject: { CN: 'Renewed' }, pathLength: 0 });
    const second = await foreignCa({ subject: { CN: 'Renewed' }, key: first.key, pathLength: 1 });
    const ids = [];
    for (const ca of [first, second]) ids.push((await importOffline(ca, { cert_type: 'root' })).body.id);
    expect((await importOffline(await foreignCa({ parent: first }))).body.signing_cert_id).toBe(ids[1]);
  });

  test.each<[string, (key: ReturnType<typeof createPrivateKey>) => string]>([
    ['PKCS#8', (key) => key.export({ type: 'pkcs8', format: 'pem' }).toString()],
    ['SEC1', (key) => key.export({ type: 'sec1', format: 'pem' }).toString()],
    [
      'SEC1 with its parameters',
      (key) =>
        `-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n${key.export({ type: 'sec1', format: 'pem' })}`,
    ],
    [
      'PKCS#8 with other line ends',
      (key) => key.export({ type: 'pkcs8', format: 'pem' }).toString().replaceAll('\n', '\r\n'),
    ],
  ])('reads a %s key', async (_, format) => {
    const old = await below();
    expect((await importOnline(old, { private_key: format(old.key.key) })).status).toBe(201);
  });

  test('reads a PKCS#1 key', async () => {
    const old = await below({ keyType: 'rsa_2048' });
    const privateKey = old.key.key.export({ type: 'pkcs1', format: 'pem' }).toString();
    const { body } = await importOnline(old, { private_key: privateKey });
    expect(body.key_type).toBe('rsa_2048');
  });

  test('a root can be imported with its key too', async () => {
    const { status, body } = await importOnline(await foreignCa(), { cert_type: 'root' });
    expect([status, body.key_availability, body.signing_cert_id]).toEqual([201, 'online', null]);
  });
});

describe('a certificate is refused that', () => {
  const past = { notBefore: new Date('2020-01-01T00:00:00Z'), notAfter: new Date('2026-05-17T12:00:00Z') };
  const constrained = (permittedDns: readonly string[], permittedIp: readonly string[] = []) => [
    nameConstraints({ permittedDns, permittedIp, excludedDns: [], excludedIp: [] }),
  ];
  const stranger = foreignCa({ subject: { CN: 'Stranger' } });

  test.each<[string, string, () => Promise<ForeignCa>]>([
    ['is not one of a CA', 'not_a_ca', () => below({ extensions: [basicConstraints({ ca: false })] })],
    ['has no extensions', 'not_a_ca', () => below({ extensions: [] })],
    [
      'cannot sign certificates',
      'key_usage',
      () => below({ extensions: [basicConstraints({ ca: true }), keyUsage('cRLSign')] }),
    ],
    [
      'cannot sign CRLs',
      'key_usage',
      () => below({ extensions: [basicConstraints({ ca: true }), keyUsage('keyCertSign')] }),
    ],
    ['has just expired', 'expired', () => below(past)],
    ['has no subject', 'no_subject', () => below({ subject: {} })],
    ['is self-signed', 'self_signed', () => foreignCa()],
    ['has an Ed25519 key', 'unsupported_key', async () => below({ spki: (await generatePrivateKey('ed25519')).spki })],
    ['has a key on another curve', 'unsupported_key', async () => below({ spki: spkiOf('secp256k1') })],
    ['has a key that is no point', 'malformed', async () => below({ spki: broken((await below()).key.spki) })],
    [
      'constrains names in a way that nobody could enforce',
      'bad_extension',
      () => below({ more: constrained(['under_score.example']) }),
    ],
    [
      'has a critical extension that nobody understands',
      'bad_extension',
      () => below({ more: [{ oid: '1.3.6.1.4.1.99999.1', critical: true, value: Buffer.of(5, 0) }] }),
    ],
    [
      'constrains names of another kind',
      'bad_extension',
      () => below({ more: [{ oid: '2.5.29.30', critical: true, value: permittedMailDomain }] }),
    ],
    [
      'bears the name of its parent and another signature',
      'wrong_parent',
      async () => below({ parent: await stranger, issuerName: { CN: 'Held Root', O: 'Old', C: 'DE' } }),
    ],
    ['is signed by another CA', 'wrong_parent', async () => below({ parent: await stranger })],
  ])('%s (%s)', async (_, code, make) => {
    const before = await countOf();
    const certificate = await make();
    for (const answer of [
      await importOffline(certificate, { signing_cert_id: ownRootId }),
      await importOnline(certificate, { signing_cert_id: ownRootId }),
    ]) {
      expect(answer.status).toBe(422);
      expect(problems(answer)).toContain(`public_cert ${code}`);
      expect(answer.body.detail).toMatch(/^[A-Z].*\.$|^signing_cert\.[a-z_]+: .*\.$/s);
    }
    expect(await countOf()).toBe(before);
  });

  test('is no root: signed by another, or with a signature of another key', async () => {
    const old = await foreignCa();
    const forged = await foreignCa({ parent: old, subject: { CN: 'Old Root', O: 'Old' } });
    for (const certificate of [await below(), forged]) {
      const answer = await importOffline(certificate, { cert_type: 'root' });
      expect(problems(answer)).toEqual(['public_cert not_self_signed']);
    }
  });

  test('stands below a CA cert whose path length is used up', async () => {
    const top = await foreignCa({ subject: { CN: 'Short' }, pathLength: 1 });
    const middle = await foreignCa({ parent: top, subject: { CN: 'Middle' } });
    await importOffline(top, { cert_type: 'root' });
    expect((await importOffline(middle)).status).toBe(201);
    const answer = await importOffline(await foreignCa({ parent: middle }));
    expect(problems(answer)).toEqual(['public_cert path_length']);
  });

  test('breaks the name constraints of a CA cert above its parent', async () => {
    const top = await foreignCa({ subject: { CN: 'Narrow' }, more: constrained(['corp.example'], ['10.0.0.0/8']) });
    const middle = await foreignCa({ parent: top, subject: { CN: 'Narrow Middle' } });
    for (const [ca, fields] of [
      [top, { cert_type: 'root' }],
      [middle, {}],
    ] as const)
      await importOffline(ca, fields);
    const named = (value: string, type: 'dns' | 'ip' = 'dns') => [
      subjectAltName([{ type, value }], { critical: false }),
    ];
    const cases: readonly (readonly [ForeignParts['more'], number])[] = [
      [named('ca.corp.example'), 201],
      [named('CA.Other.example'), 422],
      [named('10.1.1.1', 'ip'), 201],
      [named('192.0.2.1', 'ip'), 422],
      [constrained(['shop.corp.example'], ['10.9.0.0/16']), 201],
      [constrained(['other.example']), 422],
      [constrained(['']), 422],
      [constrained([], ['0.0.0.0/0']), 422],
    ];
    for (const [more, status] of cases) {
      const answer = await importOffline(await foreignCa({ parent: middle, ...(more && { more }) }));
      expect([answer.status, answer.body.errors?.[0]?.code]).toEqual([
        status,
        status === 201 ? undefined : 'name_constraints',
      ]);
    }
  });

  test('stands below a revoked CA cert', async () => {
    const top = await foreignCa({ subject: { CN: 'Compromised' } });
    await importOffline(top, { cert_type: 'root' });
    await api.ca.database.db
      .updateTable('signing_certs')
      .set({ state: 'revoked', revoked_at: new Date(), reason: 1 })
      .where('name', '=', 'Compromised')
      .execute();
    expect(problems(await importOffline(await foreignCa({ parent: top })))).toEqual(['public_cert parent_revoked']);
  });

  test('has several faults: all of them are told at once, the key too', async () => {
    const bad = await below({ ...past, extensions: [basicConstraints({ ca: false }), keyUsage('cRLSign')] });
    const { privateKey } = await foreignCa();
    expect(problems(await importOnline(bad, { private_key: privateKey, valid_days: 4 })).sort()).toEqual([
      'private_key key_mismatch',
      'public_cert expired',
      'public_cert key_usage',
      'public_cert not_a_ca',
      'valid_days not_applicable',
    ]);
  });

  const spkiOf = (namedCurve: string) =>
    generateKeyPairSync('ec', { namedCurve }).publicKey.export({ type: 'spki', format: 'der' });
  const broken = (spki: Buffer) => Buffer.concat([spki.subarray(0, -1), Buffer.of((spki.at(-1) ?? 0) ^ 1)]);
});

describe('fields of an import', () => {
  test.each<[string, object, readonly string[]]>([
    ['an offline key that is sent all the same', { key_availability: 'offline' }, ['private_key not_applicable']],
    ['a type of key to generate', { private_key_type: 'ec_256' }, ['private_key_type not_applicable']],
    ['no key', { private_key: undefined }, ['private_key required']],
    ['no certificate', { public_cert: undefined }, ['public_cert required']],
    [
      'a subject, a path length, days',
      { subject: { CN: 'x' }, path_length: 1, valid_days: 2 },
      ['subject not_applicable', 'path_length not_applicable', 'valid_days not_applicable'],
    ],
    ['the key of another certificate', { private_key: 'other' }, ['private_key key_mismatch']],
    [
      'a parent that is not there',
      { signing_cert_id: 'scrt_01h455vb4pex5vsknk084sn02q' },
      ['signing_cert_id unknown_reference'],
    ],
    [
      'a root with a parent',
      { cert_type: 'root', signing_cert_id: 'scrt_01h455vb4pex5vsknk084sn02q' },
      ['signing_cert_id not_applicable', 'public_cert not_self_signed'],
    ],
  ])('%s', async (_, fields, expected) => {
    const other =
      'private_key' in fields && fields.private_key === 'other' ? { private_key: (await foreignCa()).privateKey } : {};
    const answer = await importOnline(await below(), { ...fields, ...other });
    expect(answer.status).toBe(422);
    expect(problems(answer).sort()).toEqual([...expected].sort());
  });
});

describe('broken PEM', () => {
  const pem = (label: string, body: string) => `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;
  let good: ForeignCa;
  beforeAll(async () => {
    good = await below();
  });
  const shapes: readonly (readonly [string, (text: string, der: Buffer, label: string) => string])[] = [
    ['an empty string', () => ''],
    ['no PEM', () => 'hello'],
    ['only white space', () => ' \n\t\n'],
    ['DER as base64 without markers', (_, der) => der.toString('base64')],
    ['only a BEGIN line', (_, __, label) => `-----BEGIN ${label}-----`],
    ['no END line', (text) => text.replace(/-----END.*\n/, '')],
    ['no BEGIN line', (text) => text.replace(/-----BEGIN.*\n/, '')],
    ['markers that do not match', (text) => text.replace('-----END ', '-----END OTHER ')],
    ['all on one line', (text) => text.replaceAll('\n', '')],
    ['backslash n instead of line ends', (text) => text.replaceAll('\n', '\\n')],
    ['an empty block', (_, __, label) => pem(label, '')],
    ['letters that are no base64', (_, __, label) => pem(label, 'Zm9v!!!!')],
    ['base64 that is no DER', (_, __, label) => pem(label, 'Zm9vYmFy')],
    ['a cut-off body', (_, der, label) => toPem(label, der.subarray(0, -10))],
    ['bytes after the end', (_, der, label) => toPem(label, Buffer.concat([der, Buffer.of(0)]))],
    [
      'a flipped length',
      (_, der, label) => toPem(label, Buffer.concat([der.subarray(0, 1), Buffer.of(0x80), der.subarray(2)])),
    ],
    ['two blocks', (text) => text + text],
    ['a nested block', (text) => text.replace('\n', `\n${text}`)],
    ['another label', (text) => text.replaceAll('-----BEGIN ', '-----BEGIN X').replaceAll('-----END ', '-----END X')],
    ['nothing but NULs inside', (_, __, label) => pem(label, Buffer.alloc(300).toString('base64'))],
    ['deeply nested DER', (_, __, label) => toPem(label, nested(200))],
    ['too much text', (text) => text + ' '.repeat(40_000)],
  ];

  test.each(shapes)('%s is refused naming the field', async (_, shape) => {
    const certificate = shape(good.publicCert, good.der, 'CERTIFICATE');
    const key = shape(good.privateKey, pkcs8Of(good.key), 'PRIVATE KEY');
    const badCertificate = await importOnline(good, { public_cert: certificate });
    expect([badCertificate.status, badCertificate.body.errors]).toEqual([
      422,
      [{ field: 'signing_cert.public_cert', code: expect.any(String), message: expect.any(String) }],
    ]);
    const badKey = await importOnline(good, { private_key: key });
    expect([badKey.status, badKey.body.errors]).toEqual([
      422,
      [{ field: 'signing_cert.private_key', code: expect.any(String), message: expect.any(String) }],
    ]);
    // Nothing of what may be a key comes back.
    for (const line of good.privateKey.split('\n').slice(1, -2)) expect(badKey.text).not.toContain(line);
    expect((await importOnline(good, { public_cert: certificate, private_key: key })).body.errors).toHaveLength(2);
  });

  test.each<[string, () => Promise<object>, RegExp]>([
    ['a CSR', async () => ({ public_cert: csrPem(await aCsr()) }), /signing request/],
    ['a private key as the certificate', async () => ({ public_cert: good.privateKey }), /private key: keep it secret/],
    ['a certificate as the key', async () => ({ private_key: good.publicCert }), /It is a certificate/],
    ['an encrypted PKCS#8 key', async () => ({ private_key: encrypted('pkcs8') }), /is encrypted/],
    ['an encrypted SEC1 key', async () => ({ private_key: encrypted('sec1') }), /is encrypted/],
    [
      'an Ed25519 key',
      async () => ({ private_key: toPem('PRIVATE KEY', pkcs8Of(await generatePrivateKey('ed25519'))) }),
      /Ed25519/,
    ],
    ['a P-224 key', async () => ({ private_key: unusual('ec', { namedCurve: 'secp224r1' }) }), /P-224/],
    ['an X25519 key', async () => ({ private_key: unusual('x25519', {}) }), /X25519/],
    ['an RSA key of 1024 bits', async () => ({ private_key: unusual('rsa', { modulusLength: 1024 }) }), /1024 bits/],
    ['an RSA-PSS key', async () => ({ private_key: unusual('rsa-pss', { modulusLength: 2048 }) }), /RSASSA-PSS/],
  ])('%s is refused by name', async (_, fields, message) => {
    const answer = await importOnline(good, await fields());
    expect(answer.status).toBe(422);
    expect(answer.body.errors[0].message).toMatch(message);
  });

  test('the good one is accepted in the end', async () => {
    expect((await importOnline(good)).status).toBe(201);
  });

  const nested = (depth: number): Buffer => {
    let der = Buffer.of(0x05, 0x00);
    for (let level = 0; level < depth; level++) der = Buffer.concat([lengthened(der.length), der]);
    return der;
  };
  const lengthened = (length: number) =>
    length < 128
      ? Buffer.of(0x30, length)
      : length < 256
        ? Buffer.of(0x30, 0x81, length)
        : Buffer.of(0x30, 0x82, length >> 8, length & 255);
  const encrypted = (type: 'pkcs8' | 'sec1') =>
    createPrivateKey(good.privateKey)
      .export({ type, format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' })
      .toString();
  // The overloads of node:crypto name each type by itself.
  const unusual = (type: string, options: object): string => {
    const make: (type: string, options: object) => { privateKey: ReturnType<typeof createPrivateKey> } =
      generateKeyPairSync as never;
    return make(type, options).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  };
});

describe('a certificate that is here already', () => {
  test('is refused as duplicate_certificate, whatever else is sent, and leaves nothing', async () => {
    const old = await below();
    expect((await importOnline(old)).status).toBe(201);
    for (const again of [await importOnline(old, { name: 'Other' }), await importOffline(old)]) {
      expect([again.status, again.body.code]).toEqual([422, 'duplicate_certificate']);
      expect(problems(again)).toEqual(['public_cert duplicate_certificate']);
    }
  });

  test('so is one with a serial number that its parent has given before', async () => {
    const serial = Buffer.from('0102030405', 'hex');
    expect((await importOffline(await below({ serial }))).status).toBe(201);
    expect((await importOffline(await below({ serial }))).body.code).toBe('duplicate_certificate');
  });

  test('comes in once of fifty imports at once, with one key', async () => {
    const old = await below();
    const [keysBefore, before] = [await keyFiles(), await countOf()];
    const answers = await Promise.all(Array.from({ length: 50 }, () => importOnline(old)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.code === 'duplicate_certificate')).toHaveLength(49);
    expect(await countOf()).toBe(before + 1);
    expect((await keyFiles()).length).toBe(keysBefore.length + 1);
    const pending = await api.ca.database.db
      .selectFrom('signing_certs')
      .select('id')
      .where('state', '=', 'pending')
      .execute();
    expect(pending).toEqual([]);
  });

  test('can be imported again after it was deleted', async () => {
    const old = await below();
    const { body } = await importOffline(old);
    expect((await api.delete(`${PATH}/${body.id}`)).status).toBe(202);
    expect((await importOffline(old)).status).toBe(201);
  });

  const keyFiles = async () => (await api.ca.keys.list()).map(({ ref }) => ref);
});
