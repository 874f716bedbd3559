// The contract of /v1/acme_keys: every line of the specification about account keys.
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { formatId, parseId } from '../../src/core/ids.ts';
import { jwkOf, thumbprintOf } from '../../src/x509/jwk.ts';
import { readPublicKey } from '../../src/x509/public-key.ts';
import { testApi } from '../support/api-client.ts';
import { duringChange } from '../support/during-change.ts';
import { aPublicKey, givenAcmeKey, spendToken } from '../support/given-acme-key.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenExternalBinding } from '../support/given-external-binding.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';

const path = '/v1/acme_keys';
const UNKNOWN = '01h455vb4pex5vsknk084sn02q';

let api: Awaited<ReturnType<typeof testApi>>;
let issuer: { readonly id: string };
let directory: Awaited<ReturnType<typeof givenDirectory>>;
let dir: string;
beforeAll(async () => {
  api = await testApi();
  issuer = await givenIntermediate(api.ca);
});
beforeEach(async () => {
  directory = await givenDirectory(api.ca, { issuer });
  dir = formatId('dir', directory.id);
});
afterAll(() => api[Symbol.asyncDispose]());

/** Time passes before each change, so that ids and records come in its order. */
const post = async (fields: object = {}) => {
  api.ca.clock.advance(1);
  return api.post(path, { acme_key: { directory_id: dir, public_key: await aPublicKey(), ...fields } });
};
const create = async (fields: object = {}) => (await post(fields)).body;
const put = (id: string, fields: object) => {
  api.ca.clock.advance(1);
  return api.put(`${path}/${id}`, { acme_key: fields });
};
const revoke = (id: string, fields?: object) =>
  api.delete(`${path}/${id}`, fields === undefined ? undefined : { acme_key: fields });
const uuidOf = (id: string): string => parseId('acmk', id) ?? '';
const thumbprintOfPem = (pem: string): Buffer => thumbprintOf(jwkOf(readPublicKey(pem).spki, 'the key'));
const usesOf = async (pem: string) =>
  api.ca.database.db.selectFrom('used_keys').select(['why']).where('thumbprint', '=', thumbprintOfPem(pem)).execute();
const namesOf = ({ body }: { body: { collection: { name: string }[] } }) => body.collection.map(({ name }) => name);
const problemsOf = ({ body }: { body: { errors: { field: string; code: string }[] } }) =>
  body.errors.map(({ field, code }) => `${field} ${code}`);
const audited = async (id: string) => (await api.get(`/v1/audit_events?object_id=${id}&direction=asc`)).body.collection;

describe('create', () => {
  test('registers a key: valid, never used, with the URL of its account', async () => {
    const public_key = await aPublicKey();
    const contacts = ['mailto:edge@corp.example', 'tel:+49-1'];
    const answer = await api.post(
      path,
      { acme_key: { contacts, directory_id: dir, name: 'edge', public_key } },
      { as: 'write' },
    );
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toBe(`${path}/${answer.body.id}`);
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^acmk_[0-9a-z]{26}$/),
      object: 'acme_key',
      directory_id: dir,
      name: 'edge',
      contacts,
      public_key,
      jwk_thumbprint: thumbprintOfPem(public_key).toString('base64url'),
      kid: directory.directoryUrl.replace(/directory$/, `account/${answer.body.id}`),
      order_validations: 'challenge',
      state: 'valid',
      used_on: null,
    });
  });

  test('needs a directory and a key alone', async () => {
    expect(await create()).toMatchObject({ name: null, contacts: [], order_validations: 'challenge' });
  });

  test.each(['ec_256', 'ec_384', 'ec_521', 'rsa_2048', 'ed25519'] as const)(
    'takes a key of type %s',
    async (keyType) => {
      const public_key = await aPublicKey(keyType);
      expect(await create({ public_key })).toMatchObject({ public_key });
    },
  );

  test('takes both spellings of auto approval and shows one', async () => {
    for (const order_validations of ['auto_approve', 'auto_approved'])
      expect(await create({ order_validations })).toMatchObject({ order_validations: 'auto_approve' });
  });

  test.each([
    [
      'no directory and no key',
      { directory_id: undefined, public_key: undefined },
      ['acme_key.directory_id required', 'acme_key.public_key required'],
    ],
    ['an unknown field', { key: 'x' }, ['acme_key.key unknown_field']],
    ['eleven contacts', { contacts: Array(11).fill('mailto:a@b') }, ['acme_key.contacts bad_count']],
    [
      'a contact that is no URI',
      { contacts: ['mailto:a@b.example', 'a@b.example'] },
      ['acme_key.contacts[1] bad_format'],
    ],
    ['a contact of 321 characters', { contacts: [`mailto:${'a'.repeat(314)}`] }, ['acme_key.contacts[0] bad_length']],
    ['another validation', { order_validations: 'auto' }, ['acme_key.order_validations not_allowed']],
    ['an empty name', { name: '' }, ['acme_key.name bad_length']],
  ])('with %s is 422 and names the field', async (_what, fields, problems) => {
    const answer = await post(fields);
    expect(answer).toMatchObject({ status: 422, body: { code: 'invalid' } });
    expect(problemsOf(answer).sort()).toEqual(problems);
  });

  const pemOf = ({ publicKey }: { publicKey: KeyObject }) => String(publicKey.export({ type: 'spki', format: 'pem' }));
  test.each([
    ['no PEM', () => 'ssh-ed25519 AAAA', 'wrong_pem'],
    ['a private key', () => '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n', 'wrong_pem'],
    ['a certificate', () => '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n', 'wrong_pem'],
    ['no DER', () => '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n', 'malformed'],
    ['RSA with 1024 bits', () => pemOf(generateKeyPairSync('rsa', { modulusLength: 1024 })), 'unsupported_key'],
    ['secp256k1', () => pemOf(generateKeyPairSync('ec', { namedCurve: 'secp256k1' })), 'unsupported_key'],
    ['Ed448', () => pemOf(generateKeyPairSync('ed448')), 'unsupported_key'],
    ['two keys', async () => (await aPublicKey()) + (await aPublicKey()), 'wrong_pem'],
  ])('with %s for a key is 422', async (_what, pem, code) => {
    const answer = await post({ public_key: await pem() });
    expect(answer).toMatchObject({ status: 422, body: { code: 'invalid' } });
    expect(problemsOf(answer)).toEqual([`acme_key.public_key ${code}`]);
  });

  test('in a directory that is not there is 422', async () => {
    const answer = await post({ directory_id: `dir_${UNKNOWN}` });
    expect(answer).toMatchObject({ status: 422, body: { code: 'unknown_reference' } });
    expect(problemsOf(answer)).toEqual(['acme_key.directory_id unknown_reference']);
  });

  test('rule 1: a key that is or was used anywhere is refused', async () => {
    const other = formatId('dir', (await givenDirectory(api.ca, { issuer })).id);
    const { id, public_key } = await create();
    for (const directory_id of [dir, other]) {
      const answer = await post({ directory_id, public_key });
      expect(answer).toMatchObject({ status: 422, body: { code: 'key_reused' } });
      expect(answer.body.detail).toContain(id);
      expect(problemsOf(answer)).toEqual(['acme_key.public_key key_reused']);
    }
    await revoke(id);
    expect(await post({ public_key })).toMatchObject({ status: 422, body: { code: 'key_invalidated' } });
  });

  test('JWS-20: a key in another notation is the same key', async () => {
    const { public_key } = await create();
    const answer = await post({ public_key: `A note\n${public_key.replaceAll('\n', '\r\n')}\n\n` });
    expect(answer).toMatchObject({ status: 422, body: { code: 'key_reused' } });
  });

  test('of one key by many at once succeeds once', async () => {
    const public_key = await aPublicKey();
    const answers = await Promise.all(Array.from({ length: 50 }, () => post({ public_key })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.code === 'key_reused')).toHaveLength(49);
  });

  test('ignores read-only fields', async () => {
    const sent = { id: 1, object: 2, jwk_thumbprint: 'x', kid: 'y', state: 'revoked', used_on: '2020-01-01' };
    expect(await create(sent)).toMatchObject({ object: 'acme_key', state: 'valid', used_on: null });
  });
});

describe('retrieve', () => {
  test('shows what create showed', async () => {
    const key = await create({ name: 'edge' });
    expect(await api.get(`${path}/${key.id}`, { as: 'read' })).toMatchObject({ status: 200, body: key });
  });

  test('shows the day of the last use', async () => {
    const { id } = await create();
    await sql`update acme_keys set used_on = '2026-05-17' where id = ${uuidOf(id)}`.execute(api.ca.database.db);
    expect((await api.get(`${path}/${id}`)).body.used_on).toBe('2026-05-17');
  });

  test('of an account made with an EAB token shows what the token gave', async () => {
    const token = await givenExternalBinding(api.ca, directory, { name: 'till', order_validations: 'auto_approve' });
    const { id } = await spendToken(api.ca, token);
    expect((await api.get(`${path}/${formatId('acmk', id)}`)).body).toMatchObject({
      name: 'till',
      order_validations: 'auto_approve',
      contacts: ['mailto:shop@corp.example'],
    });
  });

  test('works while the directory is deleted', async () => {
    const { id } = await create();
    await api.delete(`/v1/directories/${dir}`);
    expect(await api.get(`${path}/${id}`)).toMatchObject({ status: 200, body: { directory_id: dir } });
    expect((await api.get(`${path}?directory_id=${dir}`)).body.collection).toHaveLength(1);
  });

  test('of an id that nothing has is 404', async () => {
    for (const id of [`acmk_${UNKNOWN}`, `eab_${UNKNOWN}`, 'acmk_1'])
      expect((await api.get(`${path}/${id}`)).status).toBe(404);
  });
});

describe('list', () => {
  const list = (query: string) => api.get(`${path}?${query}`, { as: 'read' });

  test('holds the account keys of a directory whole, whatever their state', async () => {
    const keys = [await create({ name: 'b' }), await create({ name: 'a' })];
    await givenAcmeKey(api.ca, await givenDirectory(api.ca, { issuer }));
    expect((await list(`directory_id=${dir}`)).body).toEqual({ collection: keys, more_results: false });
    await revoke(keys[0].id);
    expect((await list(`directory_id=${dir}`)).body.collection).toHaveLength(2);
  });

  test('selects by state', async () => {
    const [kept, revoked, deactivated] = [
      await create({ name: 'kept' }),
      await create({ name: 'revoked' }),
      await create({ name: 'deactivated' }),
    ];
    await revoke(revoked.id);
    await sql`update acme_keys set state = 'deactivated' where id = ${uuidOf(deactivated.id)}`.execute(
      api.ca.database.db,
    );
    for (const [state, name] of [
      ['valid', kept.name],
      ['revoked', 'revoked'],
      ['deactivated', 'deactivated'],
    ])
      expect(namesOf(await list(`directory_id=${dir}&state=${state}`))).toEqual([name]);
  });

  test.each([
    ['no directory', 'state=valid', ['directory_id required']],
    ['an unknown state', `directory_id=dir_${UNKNOWN}&state=expired`, ['state not_allowed']],
    ['another sort', `directory_id=dir_${UNKNOWN}&sort=state`, ['sort not_allowed']],
  ])('with %s is 400', async (_what, query, problems) => {
    const answer = await list(query);
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_query' } });
    expect(problemsOf(answer)).toEqual(problems);
  });

  test('of a directory that nothing has is empty', async () => {
    expect((await list(`directory_id=dir_${UNKNOWN}`)).body).toEqual({ collection: [], more_results: false });
  });

  test.each(['', '&state=valid'])('pages by id and by name, up and down%s', async (filter) => {
    for (const name of ['c', 'a', 'b', 'a', 'e', 'd']) await create({ name });
    const walk = async (order: string) => {
      const names: string[] = [];
      let url: string | undefined = `${path}?directory_id=${dir}${filter}&limit=2${order}`;
      while (url !== undefined) {
        const answer: Awaited<ReturnType<typeof api.get>> = await api.get(url, { as: 'read' });
        names.push(...namesOf(answer));
        url = /<(.*)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
      }
      return names.join('');
    };
    expect(await walk('')).toBe('cabaed');
    expect(await walk('&direction=desc')).toBe('deabac');
    expect(await walk('&sort=name')).toBe('aabcde');
    expect(await walk('&sort=name&direction=desc')).toBe('edcbaa');
  });
});

describe('update', () => {
  test('changes name, contacts and order_validations', async () => {
    const key = await create({ name: 'edge' });
    const changes = { name: 'proxy', contacts: ['mailto:new@corp.example'], order_validations: 'auto_approve' };
    const answer = await api.put(`${path}/${key.id}`, { acme_key: changes }, { as: 'write' });
    expect(answer).toMatchObject({ status: 200, body: { ...key, ...changes } });
    expect((await api.get(`${path}/${key.id}`)).body).toEqual(answer.body);
    expect((await put(key.id, { name: null, contacts: [] })).body).toMatchObject({ name: null, contacts: [] });
  });

  test('of nothing changes nothing and leaves no record, and neither does a key sent back as it was read', async () => {
    const key = await create({ name: 'edge', contacts: ['mailto:a@b.example'] });
    expect(await put(key.id, {})).toMatchObject({ status: 200, body: key });
    expect(await put(key.id, key)).toMatchObject({ status: 200, body: key });
    expect(await audited(key.id)).toHaveLength(1);
  });

  test('rule 2: a new public key withdraws the old one for ever', async () => {
    const key = await create();
    const public_key = await aPublicKey('ec_384');
    const answer = await put(key.id, { public_key });
    expect(answer).toMatchObject({
      status: 200,
      body: { ...key, public_key, jwk_thumbprint: thumbprintOfPem(public_key).toString('base64url') },
    });
    expect(await usesOf(key.public_key)).toEqual([{ why: 'invalidated' }]);
    expect(await usesOf(public_key)).toEqual([{ why: 'account' }]);
    for (const attempt of [
      await post({ public_key: key.public_key }),
      await put(key.id, { public_key: key.public_key }),
    ]) {
      expect(attempt).toMatchObject({ status: 422, body: { code: 'key_invalidated' } });
      expect(problemsOf(attempt)).toEqual(['acme_key.public_key key_invalidated']);
    }
  });

  test('to the key of another account is 422, and nothing else of the body happens', async () => {
    const [key, other] = [await create({ name: 'edge' }), await create()];
    const answer = await put(key.id, { name: 'proxy', public_key: other.public_key });
    expect(answer).toMatchObject({ status: 422, body: { code: 'key_reused' } });
    expect((await api.get(`${path}/${key.id}`)).body).toEqual(key);
    expect(await usesOf(key.public_key)).toEqual([{ why: 'account' }]);
  });

  test('of many accounts to one new key at once succeeds once', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => create()));
    const public_key = await aPublicKey();
    const answers = await Promise.all([
      ...keys.map(({ id }) => put(id, { public_key })),
      ...Array.from({ length: 20 }, () => post({ public_key })),
    ]);
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.code === 'key_reused')).toHaveLength(39);
  });

  test('of the directory is 422 immutable, but naming its own is nothing', async () => {
    const { id } = await create();
    const other = formatId('dir', (await givenDirectory(api.ca, { issuer })).id);
    const answer = await put(id, { directory_id: other });
    expect(answer).toMatchObject({ status: 422, body: { code: 'immutable' } });
    expect(problemsOf(answer)).toEqual(['acme_key.directory_id immutable']);
    expect((await put(id, { directory_id: dir })).status).toBe(200);
  });

  test('of a key that is revoked or deactivated is 422', async () => {
    const [revoked, deactivated] = [await create(), await create()];
    await revoke(revoked.id);
    await sql`update acme_keys set state = 'deactivated' where id = ${uuidOf(deactivated.id)}`.execute(
      api.ca.database.db,
    );
    for (const { id } of [revoked, deactivated]) {
      for (const fields of [{}, { name: 'x' }])
        expect(await put(id, fields)).toMatchObject({ status: 422, body: { code: 'key_not_valid' } });
    }
  });

  test('of what somebody else changes at the same time is 422 conflict', async () => {
    const { id } = await create();
    const late = () => put(id, { name: 'late' });
    const answer = await duringChange(api.ca.database, 'acme_keys', uuidOf(id), late);
    expect(answer).toMatchObject({ status: 422, body: { code: 'conflict' } });
    expect((await put(id, { name: 'again' })).status).toBe(200);
  });

  test('of an id that nothing has is 404', async () => {
    expect((await put(`acmk_${UNKNOWN}`, {})).status).toBe(404);
  });
});

test('an account key of a custom resource is shown, and changed only there', async () => {
  const { id } = await create({ name: 'declared' });
  await sql`
    update acme_keys set origin = 'kubernetes', origin_namespace = 'edge', origin_name = 'proxy',
           origin_uid = 'u1', origin_generation = 1 where id = ${uuidOf(id)}`.execute(api.ca.database.db);
  expect((await api.get(`${path}/${id}`)).body.name).toBe('declared');
  for (const answer of [await put(id, {}), await revoke(id)]) {
    expect(answer).toMatchObject({ status: 422, body: { code: 'managed_by_kubernetes' } });
    expect(answer.body.detail).toContain('AcmeKey edge/proxy');
  }
});

test('every change leaves a record', async () => {
  const key = await create({ name: 'edge' });
  const public_key = await aPublicKey();
  const changed = await put(key.id, { public_key });
  api.ca.clock.advance(1);
  await revoke(key.id);
  expect(await audited(key.id)).toMatchObject([
    {
      action: 'create',
      before: null,
      after: {
        directory_id: dir,
        external_binding_id: null,
        name: 'edge',
        contacts: [],
        jwk_thumbprint: key.jwk_thumbprint,
        order_validations: 'challenge',
        state: 'valid',
      },
    },
    {
      action: 'update',
      before: { jwk_thumbprint: key.jwk_thumbprint },
      after: { jwk_thumbprint: changed.body.jwk_thumbprint },
    },
    { action: 'revoke', before: { state: 'valid' }, after: { state: 'revoked', ended_orders: 0, revoked_certs: 0 } },
  ]);
});
