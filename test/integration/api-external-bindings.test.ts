// The contract of /v1/external_bindings: every line of the specification about EAB tokens.
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { formatId, parseId } from '../../src/core/ids.ts';
import { testApi } from '../support/api-client.ts';
import { duringChange } from '../support/during-change.ts';
import { spendToken } from '../support/given-acme-key.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenExternalBinding } from '../support/given-external-binding.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';

const path = '/v1/external_bindings';
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
const create = async (fields: object = {}) => {
  api.ca.clock.advance(1);
  return (await api.post(path, { external_binding: { directory_id: dir, ...fields } })).body;
};
const uuidOf = (id: string): string => parseId('eab', id) ?? '';
/** Uses the token: the id of the account. */
const spend = async (id: string): Promise<string> =>
  formatId('acmk', (await spendToken(api.ca, { id: uuidOf(id), directoryId: directory.id })).id);
const put = (id: string, fields: object) => {
  api.ca.clock.advance(1);
  return api.put(`${path}/${id}`, { external_binding: fields });
};
const namesOf = ({ body }: { body: { collection: { name: string }[] } }) => body.collection.map(({ name }) => name);
const problemsOf = ({ body }: { body: { errors: { field: string; code: string }[] } }) =>
  body.errors.map(({ field, code }) => `${field} ${code}`);
const audited = async (id: string) => (await api.get(`/v1/audit_events?object_id=${id}&direction=asc`)).body.collection;

describe('create', () => {
  test('with directory and name alone gives a token with the defaults', async () => {
    const answer = await api.post(path, { external_binding: { directory_id: dir, name: 'shop' } }, { as: 'write' });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toBe(`${path}/${answer.body.id}`);
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^eab_[0-9a-z]{26}$/),
      object: 'external_binding',
      directory_id: dir,
      name: 'shop',
      order_validations: 'challenge',
      key_id: null,
      acme_key_id: null,
      mac_key: expect.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_-]{42}$/),
      directory_url: directory.directoryUrl,
    });
  });

  test('needs no name', async () => {
    expect(await create()).toMatchObject({ name: null });
    expect(await create({ name: null })).toMatchObject({ name: null });
  });

  test.each([
    ['challenge', 'challenge'],
    ['auto_approve', 'auto_approve'],
    ['auto_approved', 'auto_approve'],
  ])('takes order_validations %s and shows %s', async (sent, shown) => {
    const { id, order_validations } = await create({ order_validations: sent });
    expect(order_validations).toBe(shown);
    expect((await api.get(`${path}/${id}`)).body.order_validations).toBe(shown);
  });

  test('takes a key id, which is shown, and which no other token may have', async () => {
    const first = await create({ key_id: 'shop.web_1-A' });
    expect(first.key_id).toBe('shop.web_1-A');
    const again = await api.post(path, { external_binding: { directory_id: dir, key_id: 'shop.web_1-A' } });
    expect(again).toMatchObject({ status: 422, body: { code: 'key_id_taken' } });
    expect(problemsOf(again)).toEqual(['external_binding.key_id key_id_taken']);
    await api.delete(`${path}/${first.id}`);
    expect(await create({ key_id: 'shop.web_1-A' })).toMatchObject({ key_id: 'shop.web_1-A' });
  });

  test('of one key id by many at once succeeds once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        api.post(path, { external_binding: { directory_id: dir, key_id: 'contended' } }),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.code === 'key_id_taken')).toHaveLength(49);
  });

  test('EAB-9, SEC-29: gives no two tokens one MAC key, and stores none in the clear', async () => {
    const tokens = await Promise.all(Array.from({ length: 20 }, () => create()));
    const keys = tokens.map(({ mac_key }) => mac_key);
    expect(new Set(keys).size).toBe(20);
    const { rows } = await sql<{ text: string }>`
      select b::text as text from external_bindings b union all select a::text from audit a`.execute(
      api.ca.database.db,
    );
    const stored = rows.map(({ text }) => text).join('\n');
    for (const key of keys) {
      expect(stored).not.toContain(key);
      expect(stored).not.toContain(Buffer.from(key, 'base64url').toString('hex'));
      expect(api.logLines.join('')).not.toContain(key);
    }
  });

  test.each([
    ['no directory', { directory_id: undefined }, ['external_binding.directory_id required']],
    ['the id of something else', { directory_id: `eab_${UNKNOWN}` }, ['external_binding.directory_id bad_format']],
    ['an unknown field', { mac: 'x' }, ['external_binding.mac unknown_field']],
    ['another kind of validation', { order_validations: 'auto' }, ['external_binding.order_validations not_allowed']],
    ['a key id that looks like ours', { key_id: 'eab_1' }, ['external_binding.key_id bad_format']],
    ['a key id with a blank', { key_id: 'a b' }, ['external_binding.key_id bad_format']],
    ['an empty key id', { key_id: '' }, ['external_binding.key_id bad_length']],
    ['a key id of 129 characters', { key_id: 'k'.repeat(129) }, ['external_binding.key_id bad_length']],
    ['an empty name', { name: '' }, ['external_binding.name bad_length']],
    ['a name of 201 characters', { name: 'n'.repeat(201) }, ['external_binding.name bad_length']],
    ['a name with a line break', { name: 'a\nb' }, ['external_binding.name bad_format']],
    [
      'several of these',
      { name: '', key_id: '!', order_validations: 1 },
      [
        'external_binding.key_id bad_format',
        'external_binding.name bad_length',
        'external_binding.order_validations wrong_type',
      ],
    ],
  ])('with %s is 422 and names the field', async (_what, fields, problems) => {
    const answer = await api.post(path, { external_binding: { directory_id: dir, ...fields } });
    expect(answer).toMatchObject({ status: 422, body: { code: 'invalid' } });
    expect(problemsOf(answer).sort()).toEqual(problems);
  });

  test('in a directory that is not there, or is deleted, is 422', async () => {
    await api.delete(`/v1/directories/${dir}`);
    for (const id of [`dir_${UNKNOWN}`, dir]) {
      const answer = await api.post(path, { external_binding: { directory_id: id } });
      expect(answer).toMatchObject({ status: 422, body: { code: 'unknown_reference' } });
      expect(problemsOf(answer)).toEqual(['external_binding.directory_id unknown_reference']);
    }
  });

  test('ignores read-only fields', async () => {
    const sent = { id: 'eab_1', object: 7, mac_key: 'chosen', acme_key_id: `acmk_${UNKNOWN}`, directory_url: 'x' };
    const token = await create(sent);
    expect(token).toMatchObject({ acme_key_id: null, object: 'external_binding' });
    expect(token.mac_key).not.toBe('chosen');
    expect(token.id).not.toBe('eab_1');
  });
});

describe('retrieve', () => {
  test('shows what create showed', async () => {
    const token = await create({ name: 'shop', key_id: 'retrieved', order_validations: 'auto_approve' });
    const answer = await api.get(`${path}/${token.id}`, { as: 'write' });
    expect(answer).toMatchObject({ status: 200, body: token });
  });

  test('EAB-9: leaves mac_key out for those who may only read', async () => {
    const { mac_key: _, ...token } = await create();
    expect((await api.get(`${path}/${token.id}`, { as: 'read' })).body).toEqual(token);
  });

  test('of a used token shows its account key', async () => {
    const { id } = await create();
    const acmeKeyId = await spend(id);
    expect((await api.get(`${path}/${id}`)).body).toMatchObject({ acme_key_id: acmeKeyId });
  });

  test.each([`eab_${UNKNOWN}`, 'eab_1', `dir_${UNKNOWN}`])('of %s, which nothing has, is 404', async (id) => {
    expect(await api.get(`${path}/${id}`)).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  test('works while the directory is deleted', async () => {
    const { id } = await create();
    await spend(id);
    await api.delete(`/v1/directories/${dir}`);
    expect(await api.get(`${path}/${id}`)).toMatchObject({ status: 200, body: { directory_id: dir } });
  });
});

describe('list', () => {
  const list = (query: string, as: 'read' | 'write' = 'read') => api.get(`${path}?${query}`, { as });

  test('holds the tokens of a directory without directory_url, by id', async () => {
    const tokens = [await create({ name: 'b' }), await create({ name: 'a' }), await create({ name: 'c' })];
    const shown = tokens.map(({ directory_url: _url, mac_key: _key, ...token }) => token);
    expect((await list(`directory_id=${dir}`)).body).toEqual({ collection: shown, more_results: false });
  });

  test('shows mac_key to those who may write', async () => {
    const { mac_key } = await create();
    expect((await list(`directory_id=${dir}`, 'write')).body.collection).toMatchObject([{ mac_key }]);
  });

  test('selects by account key, unused ones by an empty value, and leaves deleted ones out', async () => {
    const [used, unused, deleted] = [await create({ name: 'used' }), await create({ name: 'unused' }), await create()];
    const acmeKeyId = await spend(used.id);
    await api.delete(`${path}/${deleted.id}`);
    expect(namesOf(await list(`acme_key_id=${acmeKeyId}`))).toEqual(['used']);
    expect(namesOf(await list(`acme_key_id=${acmeKeyId}&directory_id=${dir}`))).toEqual(['used']);
    expect(namesOf(await list(`acme_key_id=&directory_id=${dir}`))).toEqual(['unused']);
    expect(namesOf(await list(`directory_id=${dir}`))).toEqual(['used', 'unused']);
    expect(unused.acme_key_id).toBeNull();
  });

  test('by ids that nothing has is empty', async () => {
    expect(namesOf(await list(`directory_id=dir_${UNKNOWN}`))).toEqual([]);
    expect(namesOf(await list(`acme_key_id=acmk_${UNKNOWN}`))).toEqual([]);
  });

  test.each([
    ['no filter', '', ['acme_key_id required']],
    ['an empty acme_key_id alone', 'acme_key_id=', ['acme_key_id required']],
    ['an empty directory_id', 'directory_id=', ['acme_key_id required', 'directory_id bad_format']],
    ['an id of another kind', `acme_key_id=dir_${UNKNOWN}`, ['acme_key_id bad_format']],
    ['another sort', `directory_id=dir_${UNKNOWN}&sort=key_id`, ['sort not_allowed']],
  ])('with %s is 400', async (_what, query, problems) => {
    const answer = await list(query);
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_query' } });
    expect(problemsOf(answer).sort()).toEqual(problems);
  });

  test.each(['', '&acme_key_id='])('pages by id and by name, up and down%s', async (filter) => {
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

  test('after an id that nothing has is 400 unknown_cursor', async () => {
    const answer = await list(`directory_id=${dir}&after=eab_${UNKNOWN}`);
    expect(answer).toMatchObject({ status: 400, body: { code: 'unknown_cursor' } });
  });
});

describe('update', () => {
  test('changes name and order_validations, in both spellings', async () => {
    const token = await create({ name: 'shop' });
    const answer = await put(token.id, { order_validations: 'auto_approved' });
    expect(answer).toMatchObject({ status: 200, body: { ...token, order_validations: 'auto_approve' } });
    expect((await put(token.id, { name: 'till' })).body).toEqual({ ...answer.body, name: 'till' });
    expect((await put(token.id, { name: null })).body.name).toBeNull();
    expect((await api.get(`${path}/${token.id}`)).body).toMatchObject({
      name: null,
      order_validations: 'auto_approve',
    });
  });

  test('of nothing changes nothing and leaves no record, and neither does a token sent back as it was read', async () => {
    const token = await create({ name: 'shop', key_id: 'sent-back' });
    expect(await put(token.id, {})).toMatchObject({ status: 200, body: token });
    expect(await put(token.id, token)).toMatchObject({ status: 200, body: token });
    expect(await audited(token.id)).toHaveLength(1);
  });

  test('of key_id or directory_id is 422 immutable', async () => {
    const { id } = await create({ key_id: 'fixed' });
    const other = formatId('dir', (await givenDirectory(api.ca, { issuer })).id);
    for (const [field, value] of [
      ['key_id', 'other'],
      ['key_id', null],
      ['directory_id', other],
    ] as const) {
      const answer = await put(id, { [field]: value });
      expect(answer).toMatchObject({ status: 422, body: { code: 'immutable' } });
      expect(problemsOf(answer)).toEqual([`external_binding.${field} immutable`]);
    }
  });

  test('of a used token is 422, whatever it asks for', async () => {
    const { id } = await create({ name: 'used' });
    const acmeKeyId = await spend(id);
    for (const fields of [{}, { name: 'other' }, { order_validations: 'auto_approve' }]) {
      const answer = await put(id, fields);
      expect(answer).toMatchObject({ status: 422, body: { code: 'token_used' } });
      expect(answer.body.detail).toContain(acmeKeyId);
    }
    expect((await api.get(`${path}/${id}`)).body.name).toBe('used');
  });

  test('of an unknown or deleted token is 404', async () => {
    const { id } = await create();
    await api.delete(`${path}/${id}`);
    expect((await put(id, { name: 'x' })).status).toBe(404);
    expect((await put(`eab_${UNKNOWN}`, {})).status).toBe(404);
  });

  test('of what somebody else changes at the same time is 422 conflict', async () => {
    const { id } = await create();
    const answer = await duringChange(api.ca.database, 'external_bindings', uuidOf(id), () =>
      put(id, { name: 'late' }),
    );
    expect(answer).toMatchObject({ status: 422, body: { code: 'conflict' } });
    expect((await api.get(`${path}/${id}`)).body.name).toBeNull();
    expect((await put(id, { name: 'again' })).status).toBe(200);
  });

  test('by many at once loses no change without a word', async () => {
    const { id } = await create();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => put(id, { name: `name ${n}` })));
    const winners = answers.filter(({ status }) => status === 200);
    expect(await audited(id)).toHaveLength(1 + winners.length);
    for (const { status, body } of answers) if (status !== 200) expect(body.code).toBe('conflict');
  });

  test('and use at once never change a used token', async () => {
    const tokens = await Promise.all(Array.from({ length: 20 }, () => create({ name: 'before' })));
    await Promise.all(
      tokens.map(async ({ id }) => {
        const [, account] = await Promise.all([put(id, { name: 'after' }), spend(id)]);
        const [token, key] = await Promise.all([api.get(`${path}/${id}`), api.get(`/v1/acme_keys/${account}`)]);
        expect(token.body.name).toBe(key.body.name);
      }),
    );
  });
});

describe('delete', () => {
  test('of an unused token is 204, and it is gone', async () => {
    const { id } = await create();
    expect(await api.delete(`${path}/${id}`, undefined, { as: 'write' })).toMatchObject({ status: 204, text: '' });
    expect((await api.get(`${path}/${id}`)).status).toBe(404);
    expect((await api.delete(`${path}/${id}`)).status).toBe(404);
  });

  test('EAB-10: of a used token is 422 and says to delete its account key', async () => {
    const { id } = await create();
    const acmeKeyId = await spend(id);
    const answer = await api.delete(`${path}/${id}`);
    expect(answer).toMatchObject({ status: 422, body: { code: 'token_used' } });
    expect(answer.body.detail).toMatch(new RegExp(`${acmeKeyId}.*delete that key instead`));
  });

  test('and use at once: one of the two happens', async () => {
    const tokens = await Promise.all(Array.from({ length: 20 }, () => create()));
    await Promise.all(
      tokens.map(async ({ id }) => {
        const [deletion, use] = await Promise.allSettled([api.delete(`${path}/${id}`), spend(id)]);
        const isDeleted = deletion.status === 'fulfilled' && deletion.value.status === 204;
        expect(isDeleted).toBe(use.status === 'rejected');
        if (use.status === 'rejected') expect(use.reason).toMatchObject({ kind: 'not_found' });
      }),
    );
  });
});

test('a token of a custom resource is shown, and changed only there', async () => {
  const { id } = await givenExternalBinding(api.ca, directory, { name: 'declared' });
  await sql`
    update external_bindings set origin = 'kubernetes', origin_namespace = 'shop', origin_name = 'till',
           origin_uid = 'u1', origin_generation = 1 where id = ${id}`.execute(api.ca.database.db);
  const url = `${path}/${formatId('eab', id)}`;
  expect((await api.get(url)).body).toMatchObject({ name: 'declared', mac_key: expect.any(String) });
  for (const answer of [await api.put(url, { external_binding: {} }), await api.delete(url)]) {
    expect(answer).toMatchObject({ status: 422, body: { code: 'managed_by_kubernetes' } });
    expect(answer.body.detail).toContain('ExternalBinding shop/till');
  }
});

test('every change leaves a record without the MAC key', async () => {
  const token = await create({ name: 'shop' });
  await put(token.id, { name: 'till' });
  api.ca.clock.advance(1);
  await api.delete(`${path}/${token.id}`, undefined, { as: 'bootstrap' });
  const records = await audited(token.id);
  const after = { directory_id: dir, name: 'shop', key_id: null, order_validations: 'challenge' };
  expect(records).toMatchObject([
    { action: 'create', object_kind: 'external_binding', before: null, after },
    { action: 'update', before: { name: 'shop' }, after: { name: 'till' } },
    { action: 'delete', actor: 'bootstrap', before: { ...after, name: 'till' }, after: null },
  ]);
  expect(JSON.stringify(records)).not.toContain(token.mac_key);
  expect(JSON.stringify(records)).not.toContain('mac');
});
