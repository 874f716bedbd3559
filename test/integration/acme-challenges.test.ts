// Responses to challenges and the end of authorizations in the core.
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AcmeError } from '../../src/core/acme-error.ts';
import { getAcmeOrder } from '../../src/core/acme-orders.ts';
import { newAuthorizations, reusableAt } from '../../src/core/authorization-offer.ts';
import { deactivateAuthorization, getAuthorization } from '../../src/core/authorizations.ts';
import { getChallenge, respondToChallenge } from '../../src/core/challenges.ts';
import { parseIdentifiers } from '../../src/core/identifiers.ts';
import { newUuid } from '../../src/core/ids.ts';
import { newOrder } from '../../src/core/new-order.ts';
import { updateAcmeKey } from '../../src/core/update-acme-key.ts';
import type { ChallengeType } from '../../src/lifecycles/challenge.ts';
import { insertOrder } from '../../src/store/new-order.ts';
import { type TestCa, testCa } from '../support/ca.ts';
import { DAY_MS } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { admin } from '../support/given.ts';
import { aPublicKey } from '../support/given-acme-key.ts';
import { applicantOf, type GivenApplicant, givenApplicant } from '../support/given-applicant.ts';
import { waitingQueries } from '../support/waiting.ts';

let running: TestCa;
beforeAll(async () => {
  running = await testCa();
});
afterAll(() => running[Symbol.asyncDispose]());

const db = () => running.ca.database.db;

/** An order of one name, its authorization, and the challenge of a type. */
async function begun(applicant: GivenApplicant, value = 'shop.corp.example') {
  const order = await newOrder(running.ca, applicant, { identifiers: [{ type: 'dns', value }] });
  const [authorizationId = ''] = order.authorizationIds;
  const { challenges } = await getAuthorization(running.ca, applicant, authorizationId);
  const idOf = (wanted: ChallengeType) => challenges.find(({ type }) => type === wanted)?.id ?? '';
  return { order, authorizationId, idOf };
}

const stored = (id: string) =>
  db()
    .selectFrom('challenges')
    .select(['state', 'token', 'key_authorization', 'account_url', 'due_at', 'lease_until', 'attempts', 'failures'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();

const set = (
  table: 'orders' | 'authorizations' | 'challenges',
  id: string,
  columns: Readonly<Record<string, unknown>>,
) =>
  sql`update ${sql.table(table)} set ${sql.join(
    Object.entries(columns).map(([name, value]) => sql`${sql.ref(name)} = ${value}`),
  )} where id = ${id}`.execute(db());

async function refusal(work: Promise<unknown>): Promise<AcmeError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof AcmeError) return error;
  throw new Error('It was not refused as ACME clients are told.', { cause: error });
}

describe('a response', () => {
  test('begins the validation with the key authorization of the account, and wakes the worker', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    const { authorizationId, idOf } = await begun(applicant);
    const told: (string | undefined)[] = [];
    await using listener = ca.database.listen({ acmery_due: (payload) => void told.push(payload) });
    await eventually('somebody listens', () => listener.isListening);

    const challenge = await respondToChallenge(ca, applicant, idOf('http-01'));

    const row = await stored(idOf('http-01'));
    expect(challenge).toEqual({
      id: idOf('http-01'),
      authorizationId,
      type: 'http-01',
      state: 'processing',
      token: row.token,
      validatedAt: undefined,
      error: undefined,
      retryAfterSeconds: 1,
    });
    expect(row).toEqual({
      state: 'processing',
      token: row.token,
      key_authorization: `${row.token}.${applicant.account.thumbprint.toString('base64url')}`,
      account_url: applicant.kid,
      due_at: ca.clock.now(),
      lease_until: null,
      attempts: 0,
      failures: null,
    });
    await eventually('the worker is told', () => told.includes('challenge'));
    expect(await getChallenge(ca, applicant, challenge.id)).toEqual(challenge);
    // AUT-2, AUT-3: the authorization goes on showing all that it offers.
    expect(await getAuthorization(ca, applicant, authorizationId)).toMatchObject({
      state: 'pending',
      retryAfterSeconds: 1,
      challenges: [{ state: 'processing' }, { state: 'pending' }, { state: 'pending' }, { state: 'pending' }],
    });
  });

  test('KEY-6: after a change of the key it is the new one that counts', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    const { idOf } = await begun(applicant);
    await updateAcmeKey(ca, admin, applicant.account.id, { public_key: await aPublicKey() });
    const changed = await applicantOf(ca, { accountId: applicant.account.id, slug: applicant.directory.slug });

    await respondToChallenge(ca, { ...changed, kid: 'https://acme.corp.example/another' }, idOf('dns-01'));

    const { token, ...row } = await stored(idOf('dns-01'));
    expect(changed.account.thumbprint).not.toEqual(applicant.account.thumbprint);
    expect(row).toMatchObject({
      key_authorization: `${token}.${changed.account.thumbprint.toString('base64url')}`,
      account_url: 'https://acme.corp.example/another',
    });
  });

  test('CHA-4, CHA-7: sent again it changes nothing, but the next attempt comes soon', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    const { idOf } = await begun(applicant);
    const id = idOf('http-01');
    const first = await respondToChallenge(ca, applicant, id);
    expect(await respondToChallenge(ca, applicant, id)).toEqual(first);
    const before = await stored(id);
    const now = ca.clock.now().getTime();

    await set('challenges', id, { due_at: new Date(now + 10_000), attempts: 2 });
    expect(await respondToChallenge(ca, applicant, id)).toEqual({ ...first, retryAfterSeconds: 3 });
    const soon = new Date(now + 2000);
    expect(await stored(id)).toEqual({ ...before, due_at: soon, attempts: 2 });
    ca.clock.advance(1000);
    await respondToChallenge(ca, applicant, id);
    expect((await stored(id)).due_at).toEqual(soon);

    // The last try keeps its time, so that all of them take ten seconds.
    const failures = JSON.stringify([
      { type: 'dns', detail: 'one' },
      { type: 'dns', detail: 'two' },
    ]);
    await set('challenges', id, { due_at: new Date(now + 20_000), failures });
    await respondToChallenge(ca, applicant, id);
    expect((await stored(id)).due_at).toEqual(new Date(now + 20_000));

    // Under way: what the worker says of it stands.
    await set('challenges', id, { due_at: new Date(now + 60_000), lease_until: new Date(now + 60_000) });
    await respondToChallenge(ca, applicant, id);
    expect((await stored(id)).due_at).toEqual(new Date(now + 60_000));
  });

  test('CHA-4, AUTO-4: a valid challenge is answered as it is', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca, { orderValidations: 'auto_approve' });
    const { idOf } = await begun(applicant);
    const challenge = await respondToChallenge(ca, applicant, idOf('dns-01'));
    expect(challenge).toMatchObject({ state: 'valid', validatedAt: ca.clock.now(), retryAfterSeconds: undefined });
    expect(await stored(challenge.id)).toMatchObject({ state: 'valid', key_authorization: null, due_at: null });
  });

  test('CHA-10: once the authorization is valid, its other challenges stay as they are', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    const { authorizationId, idOf } = await begun(applicant);
    await set('authorizations', authorizationId, { state: 'valid', validated_at: ca.clock.now() });
    expect(await respondToChallenge(ca, applicant, idOf('dns-01'))).toMatchObject({ state: 'pending' });
    expect(await stored(idOf('dns-01'))).toMatchObject({ state: 'pending', due_at: null });
  });

  test.each(['invalid', 'deactivated', 'expired', 'revoked'])(
    'CHA-5: refused when the authorization is %s',
    async (state) => {
      const { ca } = running;
      const applicant = await givenApplicant(ca);
      const { authorizationId, idOf } = await begun(applicant);
      await set('authorizations', authorizationId, { state });
      const error = await refusal(respondToChallenge(ca, applicant, idOf('http-01')));
      expect(error).toMatchObject({ type: 'malformed', status: 400 });
      expect(error.message).toContain(state);
      expect(await stored(idOf('http-01'))).toMatchObject({ state: 'pending' });
    },
  );

  test('CHA-5, ORD-19: time ends authorizations and orders without anybody moving them', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    const { order, authorizationId, idOf } = await begun(applicant);
    const valid = await begun(applicant, 'valid.corp.example');
    await set('orders', valid.order.id, { state: 'valid', issued_cert_id: newUuid(ca.clock.now()) });
    ca.clock.advance(DAY_MS - 1);
    expect(await getAcmeOrder(ca, applicant, order.id)).toMatchObject({ state: 'pending' });
    ca.clock.advance(1);
    expect(await getAcmeOrder(ca, applicant, order.id)).toMatchObject({
      state: 'invalid',
      expiresAt: order.expiresAt,
      error: { type: 'unauthorized', detail: expect.stringContaining('expired') },
    });
    expect(await getAuthorization(ca, applicant, authorizationId)).toMatchObject({ state: 'expired' });
    expect(await refusal(respondToChallenge(ca, applicant, idOf('http-01')))).toMatchObject({ type: 'malformed' });
    expect(await getAcmeOrder(ca, applicant, valid.order.id)).toMatchObject({ state: 'valid', error: undefined });
  });

  test('CHA-5: refused when the authorization ends while it comes', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    const { authorizationId, idOf } = await begun(applicant);
    let response: Promise<AcmeError> | undefined;
    await ca.database.inTransaction(async (tx) => {
      await sql`update authorizations set state = 'deactivated' where id = ${authorizationId}`.execute(tx);
      response = refusal(respondToChallenge(ca, applicant, idOf('http-01')));
      await waitingQueries(db(), 1);
    });
    expect(await response).toMatchObject({ type: 'malformed', status: 400 });
    expect(await stored(idOf('http-01'))).toMatchObject({ state: 'pending' });
  });

  test('AUT-8: a challenge of a type that is not offered cannot be begun', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    const { authorizationId } = await begun(applicant, '*.corp.example');
    const id = newUuid(ca.clock.now());
    await db()
      .insertInto('challenges')
      .values({ id, authorization_id: authorizationId, type: 'http-01', state: 'pending', token: 'token' })
      .execute();
    expect(await refusal(respondToChallenge(ca, applicant, id))).toMatchObject({ type: 'malformed', status: 400 });
    expect(await stored(id)).toMatchObject({ state: 'pending' });
  });
});

test('AUT-3, AUT-4, CHA-8: an invalid authorization shows the challenge that failed, a valid one that which did not', async () => {
  const { ca } = running;
  const applicant = await givenApplicant(ca);
  const [failed, proved] = [await begun(applicant), await begun(applicant, 'valid.corp.example')];
  const problem = { type: 'connection', detail: 'Nobody answered.' };
  for (const [{ idOf, authorizationId }, state] of [[failed, 'invalid'] as const, [proved, 'valid'] as const]) {
    await respondToChallenge(ca, applicant, idOf('dns-01'));
    const result = state === 'valid' ? { validated_at: ca.clock.now() } : { error: JSON.stringify(problem) };
    await set('challenges', idOf('dns-01'), { state, due_at: null, ...result });
    await set('authorizations', authorizationId, { state, ...(state === 'valid' && result) });
  }
  expect(await getAuthorization(ca, applicant, failed.authorizationId)).toMatchObject({
    state: 'invalid',
    retryAfterSeconds: undefined,
    challenges: [{ type: 'dns-01', state: 'invalid', error: problem }],
  });
  const { challenges } = await getAuthorization(ca, applicant, proved.authorizationId);
  expect(challenges).toMatchObject([{ type: 'dns-01', state: 'valid', validatedAt: ca.clock.now(), error: undefined }]);
});

describe('deactivation', () => {
  test.each(['pending', 'valid'] as const)(
    'AUT-6, ORD-25: of a %s authorization ends the orders that lean on it',
    async (state) => {
      const { ca } = running;
      const applicant = await givenApplicant(ca);
      const { order, authorizationId, idOf } = await begun(applicant);
      await respondToChallenge(ca, applicant, idOf('http-01'));
      await set('challenges', idOf('http-01'), { failures: '[]' });
      const bystander = await begun(applicant, 'other.corp.example');
      let second = order;
      if (state === 'valid') {
        await set('authorizations', authorizationId, { state, validated_at: ca.clock.now() });
        second = (await begun(applicant)).order;
        expect(second.authorizationIds).toEqual([authorizationId]);
      }

      expect(await deactivateAuthorization(ca, applicant, authorizationId)).toMatchObject({ state: 'deactivated' });

      for (const { id } of [order, second]) {
        expect(await getAcmeOrder(ca, applicant, id)).toMatchObject({
          state: 'invalid',
          error: {
            type: 'unauthorized',
            subproblems: [{ identifier: { type: 'dns', value: 'shop.corp.example' } }],
          },
        });
      }
      expect(await stored(idOf('http-01'))).toMatchObject({ state: 'invalid', due_at: null, failures: null });
      expect(await getAcmeOrder(ca, applicant, bystander.order.id)).toMatchObject({ state: 'pending' });
      // Once more is no change.
      expect(await deactivateAuthorization(ca, applicant, authorizationId)).toMatchObject({ state: 'deactivated' });
    },
  );

  test('AUTO-4: of an auto-approved authorization ends its order', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca, { orderValidations: 'auto_approve' });
    const { order, authorizationId } = await begun(applicant);
    const { state, challenges } = await deactivateAuthorization(ca, applicant, authorizationId);
    expect({ state, challenges }).toMatchObject({ state: 'deactivated', challenges: [{ state: 'valid' }] });
    expect(await getAcmeOrder(ca, applicant, order.id)).toMatchObject({ state: 'invalid' });
    expect((await begun(applicant)).authorizationId).not.toBe(authorizationId);
  });

  test('AUT-6: a valid order stays valid; an authorization that has failed cannot be deactivated', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca, { orderValidations: 'auto_approve' });
    const { order, authorizationId } = await begun(applicant);
    await set('orders', order.id, { state: 'valid', issued_cert_id: newUuid(ca.clock.now()) });
    await deactivateAuthorization(ca, applicant, authorizationId);
    expect(await getAcmeOrder(ca, applicant, order.id)).toMatchObject({ state: 'valid' });

    const other = await givenApplicant(ca);
    const failed = await begun(other);
    await set('authorizations', failed.authorizationId, { state: 'invalid' });
    const error = await refusal(deactivateAuthorization(ca, other, failed.authorizationId));
    expect(error).toMatchObject({ type: 'malformed', status: 400, message: expect.stringContaining('is invalid') });
  });

  test('ORD-25: ends an order, too, that is about to reuse the authorization', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    const { authorizationId } = await begun(applicant);
    const now = ca.clock.now();
    await set('authorizations', authorizationId, { state: 'valid', validated_at: now });
    const { identifiers, written } = parseIdentifiers([{ type: 'dns', value: 'shop.corp.example' }]);
    const dates = { not_before: null, not_after: null };
    const order = {
      id: newUuid(now),
      ...dates,
      profile: 'server',
      identifiers: written,
      replaces: null,
      replacedCertId: undefined,
    };
    let deactivated: Promise<unknown> | undefined;
    await ca.database.inTransaction(async (tx) => {
      const wanted = newAuthorizations(identifiers, { now, auto: false });
      const asSeen = { ...applicant, issuerVersion: applicant.directory.issuerVersion };
      const inserted = await insertOrder(tx, { seen: asSeen, order, wanted, reuse: reusableAt(now) });
      expect(inserted?.authorization_ids).toEqual([authorizationId]);
      deactivated = deactivateAuthorization(ca, applicant, authorizationId);
      await waitingQueries(db(), 1);
    });
    expect(await deactivated).toMatchObject({ state: 'deactivated' });
    expect(await getAcmeOrder(ca, applicant, order.id)).toMatchObject({ state: 'invalid' });
  });

  test('ORD-25: two deactivations at once end all orders that lean on either', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    const identifiers = ['a.corp.example', 'b.corp.example'].map((value) => ({ type: 'dns', value }));
    const order = await newOrder(ca, applicant, { identifiers });
    await Promise.all(order.authorizationIds.map((id) => deactivateAuthorization(ca, applicant, id)));
    expect(await getAcmeOrder(ca, applicant, order.id)).toMatchObject({ state: 'invalid' });
  });
});

describe('ACC-13, SEC-38: what is not of this account in this directory is not there', () => {
  const reads = {
    order: (applicant: GivenApplicant, ids: Ids, id?: string) => getAcmeOrder(running.ca, applicant, id ?? ids.order),
    authorization: (applicant: GivenApplicant, ids: Ids, id?: string) =>
      getAuthorization(running.ca, applicant, id ?? ids.authorization),
    'authorization, to deactivate': (applicant: GivenApplicant, ids: Ids, id?: string) =>
      deactivateAuthorization(running.ca, applicant, id ?? ids.authorization),
    challenge: (applicant: GivenApplicant, ids: Ids, id?: string) =>
      getChallenge(running.ca, applicant, id ?? ids.challenge),
    'challenge, to respond': (applicant: GivenApplicant, ids: Ids, id?: string) =>
      respondToChallenge(running.ca, applicant, id ?? ids.challenge),
  };
  type Ids = { readonly order: string; readonly authorization: string; readonly challenge: string };

  test.each(Object.entries(reads))('%s', async (_, read) => {
    const { ca } = running;
    const [owner, stranger] = [await givenApplicant(ca), await givenApplicant(ca)];
    const { order, authorizationId, idOf } = await begun(owner);
    const ids = { order: order.id, authorization: authorizationId, challenge: idOf('http-01') };
    const elsewhere = { ...owner, directory: stranger.directory };

    const missing = await refusal(read(owner, ids, newUuid(ca.clock.now())));
    expect(missing).toMatchObject({ type: 'malformed', status: 404 });
    for (const applicant of [stranger, elsewhere])
      expect({ ...(await refusal(read(applicant, ids))) }).toEqual({ ...missing });
    expect(await stored(ids.challenge)).toMatchObject({ state: 'pending' });
    expect(await getAuthorization(ca, owner, authorizationId)).toMatchObject({ state: 'pending' });
  });
});
