// What ends with an account key that is revoked, and with auto approval: the contract of DELETE /v1/acme_keys/{id}, AUTO-6.
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { formatId, parseId } from '../../src/core/ids.ts';
import { jwkOf, thumbprintOf } from '../../src/x509/jwk.ts';
import { readPublicKey } from '../../src/x509/public-key.ts';
import { testApi } from '../support/api-client.ts';
import { anAccountKey, aPublicKey, spendToken } from '../support/given-acme-key.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenExternalBinding } from '../support/given-external-binding.ts';
import { givenAuthorization, givenOpenWork, openWorkOf } from '../support/given-open-work.ts';
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
const revoke = (id: string, fields?: object) => {
  api.ca.clock.advance(1);
  return api.delete(`${path}/${id}`, fields === undefined ? undefined : { acme_key: fields });
};
const uuidOf = (id: string): string => parseId('acmk', id) ?? '';
const givenWork = (id: string, { auto = false } = {}) =>
  givenOpenWork(db(), accountOf(id), { signingCertId: issuer.id, now: api.ca.clock.now(), auto });
const accountOf = (id: string) => ({ acme_key_id: uuidOf(id), directory_id: directory.id });
const workOf = (id: string) => openWorkOf(db(), uuidOf(id));
const db = () => api.ca.database.db;
const thumbprintOfPem = (pem: string): Buffer => thumbprintOf(jwkOf(readPublicKey(pem).spki, 'the key'));
const usesOf = async (pem: string) =>
  api.ca.database.db.selectFrom('used_keys').select(['why']).where('thumbprint', '=', thumbprintOfPem(pem)).execute();
const problemsOf = ({ body }: { body: { errors: { field: string; code: string }[] } }) =>
  body.errors.map(({ field, code }) => `${field} ${code}`);
const audited = async (id: string) => (await api.get(`/v1/audit_events?object_id=${id}&direction=asc`)).body.collection;

describe('AUTO-6: from auto approval back to challenge', () => {
  test('open orders that lean on it become invalid, and its authorizations end', async () => {
    const { id } = await create({ order_validations: 'auto_approve' });
    const orders = await givenWork(id, { auto: true });
    expect((await put(id, { order_validations: 'challenge' })).status).toBe(200);
    const work = await workOf(id);
    const error = { type: 'unauthorized', detail: expect.stringContaining('challenge again') };
    for (const state of ['pending', 'ready', 'processing'] as const)
      expect(work.orders.get(orders[state])).toMatchObject({ state: 'invalid', error, tbs: null, due_at: null });
    expect(work.orders.get(orders.valid)).toMatchObject({ state: 'valid' });
    expect(work.orders.get(orders.invalid)).toMatchObject({ state: 'invalid', error: null });
    expect(new Set(Object.values(work.authorizations))).toEqual(new Set(['revoked']));
    expect(work.certs).toEqual([{ state: 'valid', reason: null }]);
  });

  test('orders that were validated by challenge go on', async () => {
    const { id } = await create({ order_validations: 'auto_approve' });
    await givenWork(id);
    const before = await workOf(id);
    await put(id, { order_validations: 'challenge' });
    expect(await workOf(id)).toEqual(before);
  });

  test('an order that leans on one among others ends, and the others stay good for another order', async () => {
    const { id } = await create({ order_validations: 'auto_approve' });
    const orders = await givenWork(id);
    const auto = { orderId: orders.ready, value: 'auto.corp.example', state: 'valid', position: 1 } as const;
    await givenAuthorization(db(), accountOf(id), { now: api.ca.clock.now(), auto: true }, auto);
    await put(id, { order_validations: 'challenge' });
    const work = await workOf(id);
    expect(work.orders.get(orders.ready)).toMatchObject({ state: 'invalid' });
    expect(work.orders.get(orders.pending)).toMatchObject({ state: 'pending' });
    expect(work.authorizations).toMatchObject({ auto: 'revoked', ready: 'valid', pending: 'pending' });
  });

  test('other changes end nothing', async () => {
    const { id } = await create({ order_validations: 'auto_approve' });
    await givenWork(id, { auto: true });
    const before = await workOf(id);
    await put(id, { name: 'x', order_validations: 'auto_approved', public_key: await aPublicKey() });
    expect(await workOf(id)).toEqual(before);
  });
});

describe('revoke', () => {
  test('is 200 with the revoked key, which is withdrawn for ever', async () => {
    const key = await create();
    const answer = await api.delete(`${path}/${key.id}`, undefined, { as: 'write' });
    expect(answer).toMatchObject({ status: 200, body: { ...key, state: 'revoked' } });
    expect(await usesOf(key.public_key)).toEqual([{ why: 'invalidated' }]);
    expect((await api.get(`${path}/${key.id}`)).body.state).toBe('revoked');
  });

  test('ends orders, processing ones too, authorizations and probes; certificates stay', async () => {
    const { id } = await create();
    const orders = await givenWork(id);
    const other = await create();
    await givenWork(other.id);
    const before = await workOf(other.id);

    await revoke(id);

    const work = await workOf(id);
    const error = { type: 'unauthorized', detail: 'The account was revoked by an administrator.' };
    for (const state of ['pending', 'ready', 'processing'] as const)
      expect(work.orders.get(orders[state])).toMatchObject({
        state: 'invalid',
        error,
        tbs: null,
        due_at: null,
      });
    expect(work.orders.get(orders.valid)).toMatchObject({ state: 'valid', error: null });
    expect(work.authorizations).toMatchObject({ pending: 'invalid', ready: 'revoked', valid: 'revoked' });
    expect(work.challenges).toEqual([{ state: 'invalid', due_at: null, error }]);
    expect(work.certs).toEqual([{ state: 'valid', reason: null }]);
    expect(await workOf(other.id)).toEqual(before);
  });

  test.each([
    ['without a reason', {}, 'unspecified', 0],
    ['by number', { reason: 4 }, 'superseded', 4],
    ['by name', { revoke_reason: 'key_compromise' }, 'key_compromise', 1],
  ])('revokes its certs too when an admin asks for it, %s', async (_what, fields, name, number) => {
    const { id } = await create();
    await givenWork(id);
    expect((await revoke(id, { revoke_certs: true, ...fields })).status).toBe(200);
    expect((await workOf(id)).certs).toEqual([{ state: 'revoked', reason: number }]);
    const [, record] = await audited(id);
    expect(record).toMatchObject({ action: 'revoke', after: { state: 'revoked', ended_orders: 3, revoked_certs: 1 } });
    const { rows } = await sql`
      select detail -> 'after' ->> 'revoke_reason' as reason from audit a join issued_certs c on c.id = a.object_id
       where c.acme_key_id = ${uuidOf(id)}`.execute(api.ca.database.db);
    expect(rows).toEqual([{ reason: name }]);
    const crl = await api.ca.database.db
      .selectFrom('crls')
      .select('dirty_since')
      .where('signing_cert_id', '=', issuer.id)
      .executeTakeFirst();
    expect(crl?.dirty_since).toBeInstanceOf(Date);
  });

  test('revoke_certs needs permission admin, as revoking certs does', async () => {
    const { id } = await create();
    const answer = await api.delete(`${path}/${id}`, { acme_key: { revoke_certs: true } }, { as: 'write' });
    expect(answer).toMatchObject({ status: 403, body: { code: 'permission_denied' } });
    expect((await api.get(`${path}/${id}`)).body.state).toBe('valid');
    const allowed = await api.delete(`${path}/${id}`, { acme_key: { revoke_certs: false } }, { as: 'write' });
    expect(allowed.status).toBe(200);
  });

  test.each([
    [
      'both reasons',
      { revoke_certs: true, reason: 1, revoke_reason: 'key_compromise' },
      ['acme_key.revoke_reason not_applicable'],
    ],
    ['an unknown reason', { revoke_certs: true, reason: 6 }, ['acme_key.reason not_allowed']],
    ['a reason for nothing', { reason: 1 }, ['acme_key.revoke_certs required']],
    ['an unknown field', { revoke_cert: true }, ['acme_key.revoke_cert unknown_field']],
    ['text for a boolean', { revoke_certs: 'yes' }, ['acme_key.revoke_certs wrong_type']],
  ])('with %s is 422, and nothing is done', async (_what, fields, problems) => {
    const { id } = await create();
    const answer = await revoke(id, fields);
    expect(answer).toMatchObject({ status: 422, body: { code: 'invalid' } });
    expect(problemsOf(answer)).toEqual(problems);
    expect((await api.get(`${path}/${id}`)).body.state).toBe('valid');
  });

  test('of a key that is not valid is 422, of one that is not there 404', async () => {
    const [{ id }, deactivated] = [await create(), await create()];
    await revoke(id);
    await sql`update acme_keys set state = 'deactivated' where id = ${uuidOf(deactivated.id)}`.execute(
      api.ca.database.db,
    );
    expect(await revoke(id)).toMatchObject({ status: 422, body: { code: 'key_not_valid' } });
    expect(await revoke(deactivated.id)).toMatchObject({ status: 422, body: { code: 'key_not_valid' } });
    expect((await revoke(`acmk_${UNKNOWN}`)).status).toBe(404);
  });

  test('by many at once succeeds once', async () => {
    const { id } = await create();
    await givenWork(id);
    const answers = await Promise.all(Array.from({ length: 50 }, () => revoke(id)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.code === 'key_not_valid')).toHaveLength(49);
  });

  test('and a new key at once: the key that stays is withdrawn', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => create()));
    await Promise.all(
      keys.map(async ({ id, public_key: old }) => {
        const public_key = await aPublicKey();
        const [change, end] = await Promise.all([put(id, { public_key }), revoke(id)]);
        expect(end.status).toBe(200);
        expect(change.status === 200 || change.body.code === 'key_not_valid').toBe(true);
        expect(end.body.public_key).toBe(change.status === 200 ? public_key : old);
        expect(await usesOf(old)).toEqual([{ why: 'invalidated' }]);
        expect(await usesOf(public_key)).toEqual(change.status === 200 ? [{ why: 'invalidated' }] : []);
      }),
    );
  });

  test('an account that an ACME client made is revoked like any other', async () => {
    const token = await givenExternalBinding(api.ca, directory);
    const { id } = await spendToken(api.ca, token, await anAccountKey());
    expect((await revoke(formatId('acmk', id))).body.state).toBe('revoked');
  });
});
