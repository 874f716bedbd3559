// newOrder in the core: what becomes of an order, which authorizations serve it, what is refused, and races.
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AcmeError } from '../../src/core/acme-error.ts';
import { getAcmeOrder } from '../../src/core/acme-orders.ts';
import { deactivateAuthorization, getAuthorization } from '../../src/core/authorizations.ts';
import { deleteDirectory } from '../../src/core/delete-directory.ts';
import { newAuthorization, newOrder } from '../../src/core/new-order.ts';
import { revokeAcmeKey } from '../../src/core/revoke-acme-key.ts';
import { updateAcmeKey } from '../../src/core/update-acme-key.ts';
import { updateDirectory } from '../../src/core/update-directory.ts';
import { type TestCa, testCa } from '../support/ca.ts';
import { DAY_MS } from '../support/clock.ts';
import { admin } from '../support/given.ts';
import { applicantOf, type GivenApplicant, givenApplicant } from '../support/given-applicant.ts';
import { waitingQueries } from '../support/waiting.ts';

const HOUR_MS = DAY_MS / 24;

let running: TestCa;
beforeAll(async () => {
  running = await testCa();
});
afterAll(() => running[Symbol.asyncDispose]());

const dns = (...names: readonly string[]) => names.map((value) => ({ type: 'dns', value }));
const order = (applicant: GivenApplicant, ...names: readonly string[]) =>
  newOrder(running.ca, applicant, { identifiers: dns(...names) });

async function refusal(work: Promise<unknown>): Promise<AcmeError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof AcmeError) return error;
  throw new Error('It was not refused as ACME clients are told.', { cause: error });
}

/** As the worker does when all has been proved. */
async function validate(authorizationId: string | undefined, change: { readonly state?: 'valid' | 'invalid' } = {}) {
  const { state = 'valid' } = change;
  const now = running.ca.clock.now();
  const { db } = running.ca.database;
  await sql`update authorizations set state = ${state}, validated_at = ${state === 'valid' ? now : null}
             where id = ${authorizationId}`.execute(db);
}

const rowsOf = async (accountId: string) => {
  const count = (table: 'orders' | 'authorizations') =>
    running.ca.database.db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('acme_key_id', '=', accountId)
      .executeTakeFirstOrThrow();
  const [orders, authorizations] = await Promise.all([count('orders'), count('authorizations')]);
  return { orders: orders.count, authorizations: authorizations.count };
};

/** The applicant as a later request reads it. */
const later = ({ account, directory }: GivenApplicant) =>
  applicantOf(running.ca, { accountId: account.id, slug: directory.slug });

test('ORD-2, ORD-6, ORD-8, ORD-9, AUT-7, CHA-2: identifiers are shown as they were written, duplicates once; authorizations are for the names themselves', async () => {
  const applicant = await givenApplicant(running.ca);
  const wish = ['Shop.Corp.Example', '*.corp.example', 'corp.example', 'SHOP.corp.example'];
  const made = await newOrder(running.ca, applicant, {
    identifiers: [...dns(...wish), { type: 'ip', value: 'fd00::1' }],
  });

  expect(made).toMatchObject({
    state: 'pending',
    identifiers: [...dns('Shop.Corp.Example', '*.corp.example', 'corp.example'), { type: 'ip', value: 'fd00::1' }],
    expiresAt: new Date(running.ca.clock.now().getTime() + DAY_MS),
    profile: 'server',
    notBefore: undefined,
    notAfter: undefined,
    replaces: undefined,
    error: undefined,
  });
  expect(await getAcmeOrder(running.ca, applicant, made.id)).toEqual(made);
  const authorizations = await Promise.all(
    made.authorizationIds.map((id) => getAuthorization(running.ca, applicant, id)),
  );
  expect(
    authorizations.map(({ identifier, wildcard, challenges }) => ({
      identifier,
      wildcard,
      challenges: challenges.map(({ type }) => type),
    })),
  ).toEqual([
    {
      identifier: { type: 'dns', value: 'shop.corp.example' },
      wildcard: false,
      challenges: ['http-01', 'dns-01', 'tls-alpn-01', 'dns-account-01'],
    },
    { identifier: { type: 'dns', value: 'corp.example' }, wildcard: true, challenges: ['dns-01', 'dns-account-01'] },
    {
      identifier: { type: 'dns', value: 'corp.example' },
      wildcard: false,
      challenges: ['http-01', 'dns-01', 'tls-alpn-01', 'dns-account-01'],
    },
    { identifier: { type: 'ip', value: 'fd00::1' }, wildcard: false, challenges: ['http-01', 'tls-alpn-01'] },
  ]);
  const tokens = authorizations.flatMap(({ challenges }) => challenges.map(({ token }) => token));
  expect(new Set(tokens).size).toBe(tokens.length);
  for (const token of tokens) expect(token).toMatch(/^[A-Za-z0-9_-]{22,}$/);
});

test('ORD-21: the same again is a new order with authorizations of its own', async () => {
  const applicant = await givenApplicant(running.ca);
  const [first, second] = [await order(applicant, 'shop.corp.example'), await order(applicant, 'shop.corp.example')];
  expect(second.id).not.toBe(first.id);
  expect(second.authorizationIds).not.toEqual(first.authorizationIds);
});

describe('reuse', () => {
  test('ORD-22: a valid authorization serves new orders for an hour, and the order ends with it', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    const first = await order(applicant, 'shop.corp.example');
    ca.clock.advance(10 * 60_000);
    await validate(first.authorizationIds[0]);
    ca.clock.advance(HOUR_MS - 1);

    const second = await order(applicant, 'shop.corp.example');
    expect(second).toMatchObject({
      state: 'ready',
      authorizationIds: first.authorizationIds,
      expiresAt: first.expiresAt,
    });
    const third = await order(applicant, 'other.corp.example', 'shop.corp.example');
    expect(third).toMatchObject({ state: 'pending', expiresAt: first.expiresAt });
    expect(third.authorizationIds[1]).toBe(first.authorizationIds[0]);

    ca.clock.advance(1);
    const fourth = await order(applicant, 'shop.corp.example');
    expect(fourth.state).toBe('pending');
    expect(fourth.authorizationIds).not.toEqual(first.authorizationIds);
  });

  test('ORD-22: one that ends within the hour leaves no time for an order', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    const first = await order(applicant, 'shop.corp.example');
    ca.clock.advance(DAY_MS - HOUR_MS);
    await validate(first.authorizationIds[0]);
    expect((await order(applicant, 'shop.corp.example')).authorizationIds).not.toEqual(first.authorizationIds);
  });

  test('ORD-23, SEC-33: not for another type, name, wildcard or account', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    const first = await order(applicant, 'corp.example');
    await validate(first.authorizationIds[0]);
    expect((await order(applicant, '*.corp.example')).state).toBe('pending');
    expect((await order(applicant, 'shop.corp.example')).state).toBe('pending');
    const other = await givenApplicant(ca);
    expect((await order(other, 'corp.example')).state).toBe('pending');
    const wild = await order(applicant, '*.corp.example');
    await validate(wild.authorizationIds[0]);
    expect((await order(applicant, '*.corp.example')).authorizationIds).toEqual(wild.authorizationIds);
    expect((await order(applicant, 'corp.example')).authorizationIds).toEqual(first.authorizationIds);
  });

  test.each(['invalid', 'pending'] as const)('an authorization that is %s serves no other order', async (state) => {
    const applicant = await givenApplicant(running.ca);
    const first = await order(applicant, 'shop.corp.example');
    if (state === 'invalid') await validate(first.authorizationIds[0], { state });
    expect((await order(applicant, 'shop.corp.example')).authorizationIds).not.toEqual(first.authorizationIds);
  });

  test('PRE-2: what was authorized in advance is valid in the next order', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    const id = await newAuthorization(ca, applicant, { type: 'dns', value: 'Shop.corp.example' });
    expect(await getAuthorization(ca, applicant, id)).toMatchObject({ state: 'pending', wildcard: false });
    await validate(id);
    expect(await order(applicant, 'shop.corp.example')).toMatchObject({ state: 'ready', authorizationIds: [id] });
  });
});

describe('auto-approved accounts', () => {
  test('AUTO-1, AUTO-2: the order is born ready, each authorization with its one valid challenge', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca, { orderValidations: 'auto_approve' });
    const made = await newOrder(ca, applicant, {
      identifiers: [...dns('shop.corp.example', '*.corp.example'), { type: 'ip', value: '10.1.2.3' }],
    });
    expect(made.state).toBe('ready');
    const authorizations = await Promise.all(made.authorizationIds.map((id) => getAuthorization(ca, applicant, id)));
    const now = ca.clock.now();
    expect(authorizations.map(({ state, expiresAt }) => ({ state, expiresAt }))).toEqual(
      Array.from({ length: 3 }, () => ({ state: 'valid', expiresAt: new Date(now.getTime() + DAY_MS) })),
    );
    expect(authorizations.map(({ challenges }) => challenges)).toEqual(
      (['dns-01', 'dns-01', 'http-01'] as const).map((type) => [
        {
          id: expect.any(String),
          type,
          state: 'valid',
          token: expect.any(String),
          validatedAt: now,
          error: undefined,
        },
      ]),
    );
  });

  test('AUTO-7: policy refuses as for everybody, and nothing is written', async () => {
    const applicant = await givenApplicant(running.ca, {
      orderValidations: 'auto_approve',
      allowed_dns_identifiers: ['**.corp.example'],
    });
    const error = await refusal(order(applicant, 'shop.corp.example', 'shop.example.org'));
    expect(error).toMatchObject({ type: 'rejectedIdentifier', status: 403 });
    expect(await rowsOf(applicant.account.id)).toEqual({ orders: 0, authorizations: 0 });
  });

  test('AUTO-6: back to challenge, nothing is reused and open orders end with what they leaned on', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca, { orderValidations: 'auto_approve' });
    const auto = await order(applicant, 'shop.corp.example');
    expect((await order(applicant, 'shop.corp.example')).authorizationIds).toEqual(auto.authorizationIds);

    await updateAcmeKey(ca, admin, applicant.account.id, { order_validations: 'challenge' });

    expect(await getAcmeOrder(ca, applicant, auto.id)).toMatchObject({
      state: 'invalid',
      error: { type: 'unauthorized' },
    });
    expect(await getAuthorization(ca, applicant, auto.authorizationIds[0])).toMatchObject({ state: 'revoked' });
    const next = await order(await later(applicant), 'shop.corp.example');
    expect(next.state).toBe('pending');
    expect(next.authorizationIds).not.toEqual(auto.authorizationIds);
  });

  test('AUTO-6: an authorization that was proved does not serve an auto-approved order, nor the other way round', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    const proved = await order(applicant, 'shop.corp.example');
    await validate(proved.authorizationIds[0]);
    await updateAcmeKey(ca, admin, applicant.account.id, { order_validations: 'auto_approve' });
    const auto = await order(await later(applicant), 'shop.corp.example');
    expect(auto).toMatchObject({ state: 'ready' });
    expect(auto.authorizationIds).not.toEqual(proved.authorizationIds);
  });
});

describe('refusals', () => {
  test('ERR-2, ERR-5, ORD-11: every refused identifier has its subproblem, and nothing is written', async () => {
    const applicant = await givenApplicant(running.ca, { allowed_dns_identifiers: ['**.corp.example'] });
    const error = await refusal(
      newOrder(running.ca, applicant, {
        identifiers: [
          ...dns('a.example.org', 'shop.corp.example', 'evilcorp.example'),
          { type: 'ip', value: '192.0.2.1' },
        ],
      }),
    );
    expect(error).toMatchObject({ type: 'rejectedIdentifier', status: 403 });
    expect(error.subproblems.map(({ type, identifier }) => ({ type, value: identifier?.value }))).toEqual(
      ['a.example.org', 'evilcorp.example', '192.0.2.1'].map((value) => ({ type: 'rejectedIdentifier', value })),
    );
    expect(await rowsOf(applicant.account.id)).toEqual({ orders: 0, authorizations: 0 });
  });

  test.each([
    ['an unknown type', [{ type: 'email', value: 'a@corp.example' }], 'unsupportedIdentifier'],
    ['no name', dns('shop..corp.example'), 'malformed'],
    ['SEC-2: an address as a name', dns('127.1'), 'malformed'],
    ['one of each', [{ type: 'email', value: 'a@corp.example' }, ...dns('-')], 'malformed'],
    ['none', [], 'malformed'],
  ])('%s: 400', async (_, identifiers, type) => {
    const applicant = await givenApplicant(running.ca);
    const error = await refusal(newOrder(running.ca, applicant, { identifiers }));
    expect(error).toMatchObject({ type, status: 400 });
  });

  test('ORD-3: 100 identifiers are one order', async () => {
    const applicant = await givenApplicant(running.ca);
    const made = await order(applicant, ...Array.from({ length: 100 }, (_, n) => `a${n}.corp.example`));
    expect(new Set(made.authorizationIds).size).toBe(100);
    expect((await getAcmeOrder(running.ca, applicant, made.id)).authorizationIds).toEqual(made.authorizationIds);
  });

  test.each([
    ['no zone', { notAfter: '2026-08-01T00:00:00' }, /zone.*2 to 97 days/],
    ['no date', { notBefore: 'tomorrow' }, /RFC 3339/],
    ['the year 0001', { notBefore: '0001-01-01T00:00:00Z' }, /window from .* to /],
    ['too long', { notAfter: '2030-01-01T00:00:00Z' }, /window from .* to /],
    ['an end before the beginning', { notAfter: '2025-01-01T00:00:00Z' }, /window from .* to /],
  ])('ORD-15: %s is malformed, naming the window', async (_, dates, detail) => {
    const applicant = await givenApplicant(running.ca);
    const error = await refusal(newOrder(running.ca, applicant, { identifiers: dns('shop.corp.example'), ...dates }));
    expect(error).toMatchObject({ type: 'malformed', status: 400 });
    expect(error.message).toMatch(detail);
  });

  test('ORD-14, ORD-18: dates are kept in whole seconds of UTC', async () => {
    const applicant = await givenApplicant(running.ca);
    const begin = new Date(Math.floor(running.ca.clock.now().getTime() / 1000) * 1000 + HOUR_MS);
    const end = new Date(begin.getTime() + 30 * DAY_MS);
    const shifted = (date: Date) => `${new Date(date.getTime() + 4 * HOUR_MS).toISOString().slice(0, -5)}.987+04:00`;
    const made = await newOrder(running.ca, applicant, {
      identifiers: dns('shop.corp.example'),
      notBefore: shifted(begin),
      notAfter: shifted(end),
    });
    expect(made).toMatchObject({ notBefore: begin, notAfter: end });
    expect(await getAcmeOrder(running.ca, applicant, made.id)).toEqual(made);
  });

  test('PRF-1, ORD-29: a profile is kept, none or an empty one is the first; an unknown one is refused', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca, { profiles: ['mtls', 'client'] });
    const profileOf = async (profile?: string) =>
      (await newOrder(ca, applicant, { identifiers: dns('shop.corp.example'), profile })).profile;
    expect([await profileOf(), await profileOf(''), await profileOf('client')]).toEqual(['mtls', 'mtls', 'client']);
    expect(await refusal(profileOf('server'))).toMatchObject({ type: 'invalidProfile', status: 400 });
  });

  test('ARI-7: what is replaced is kept as it was written', async () => {
    const applicant = await givenApplicant(running.ca);
    const made = await newOrder(running.ca, applicant, { identifiers: dns('a.corp.example'), replaces: 'AQ.Ag' });
    expect((await getAcmeOrder(running.ca, applicant, made.id)).replaces).toBe('AQ.Ag');
  });

  test('an issuer that cannot sign is no fault of the client: 503, to be tried again', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    await sql`update signing_certs set state = 'revoked', revoked_at = ${ca.clock.now()}, reason = 0
               where id = ${applicant.directory.signing_cert_id}`.execute(ca.database.db);
    const error = await refusal(order(applicant, 'shop.corp.example'));
    expect(error).toMatchObject({ type: 'serverInternal', status: 503, headers: { 'Retry-After': '300' } });
    expect(error.message).toMatch(/is revoked/);
  });

  test('PRE-1: a wildcard cannot be authorized in advance, and policy holds', async () => {
    const applicant = await givenApplicant(running.ca, { allowed_dns_identifiers: ['**.corp.example'] });
    const authorize = (value: string) => refusal(newAuthorization(running.ca, applicant, { type: 'dns', value }));
    expect(await authorize('*.corp.example')).toMatchObject({ type: 'malformed', status: 400 });
    expect(await authorize('shop.example.org')).toMatchObject({ type: 'rejectedIdentifier', status: 403 });
  });
});

describe('at once', () => {
  test('ORD-27: 64 orders of one account all succeed, each with what it needs', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    const made = await Promise.all(
      Array.from({ length: 64 }, (_, n) => order(applicant, 'shop.corp.example', `a${n % 8}.corp.example`)),
    );
    expect(new Set(made.flatMap(({ authorizationIds }) => authorizationIds)).size).toBe(128);
    expect(await rowsOf(applicant.account.id)).toEqual({ orders: 64, authorizations: 128 });
  });

  test('ORD-27: 64 auto-approved orders of one account for one name all succeed', async () => {
    const applicant = await givenApplicant(running.ca, { orderValidations: 'auto_approve' });
    await order(applicant, 'shop.corp.example');
    const made = await Promise.all(Array.from({ length: 64 }, () => order(applicant, 'shop.corp.example')));
    expect(made.every(({ state }) => state === 'ready')).toBe(true);
    expect(await rowsOf(applicant.account.id)).toEqual({ orders: 65, authorizations: 1 });
  });

  test('a directory that was changed meanwhile decides by its new rules', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    await updateDirectory(ca, admin, applicant.directory.id, { allowed_dns_identifiers: ['**.corp.example'] });
    expect(await order(applicant, 'shop.corp.example')).toMatchObject({ state: 'pending' });
    expect(await refusal(order(applicant, 'shop.example.org'))).toMatchObject({ type: 'rejectedIdentifier' });
    await deleteDirectory(ca, admin, applicant.directory.id);
    expect(await refusal(order(applicant, 'shop.corp.example'))).toMatchObject({ type: 'malformed', status: 404 });
  });

  test('AUTO-6: an order that comes while the account goes back to challenge is validated by challenge', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca, { orderValidations: 'auto_approve' });
    await order(applicant, 'shop.corp.example');
    const made = await whileHeld(
      applicant.account.id,
      (tx) =>
        sql`
      update acme_keys set order_validations = 'challenge', version = version + 1 where id = ${applicant.account.id}`.execute(
          tx,
        ),
      () => order(applicant, 'shop.corp.example'),
    );
    expect(made.state).toBe('pending');
  });

  test('an account that is revoked meanwhile gets no order', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    await revokeAcmeKey(ca, admin, applicant.account.id);
    expect(await refusal(order(applicant, 'shop.corp.example'))).toMatchObject({ type: 'unauthorized', status: 401 });
    expect(await rowsOf(applicant.account.id)).toEqual({ orders: 0, authorizations: 0 });
  });

  test('ORD-22: an authorization that is deactivated while an order is to reuse it is not reused', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    const first = await order(applicant, 'shop.corp.example');
    await validate(first.authorizationIds[0]);
    const id = first.authorizationIds[0];
    const made = await whileHeld(
      applicant.account.id,
      (tx) => sql`update authorizations set state = 'deactivated' where id = ${id}`.execute(tx),
      () => order(applicant, 'shop.corp.example'),
    );
    expect(made).toMatchObject({ state: 'pending' });
    expect(made.authorizationIds).not.toEqual([id]);
  });

  test('AUT-6: orders and the deactivation of what they reuse, at once: none is left open on it', async () => {
    const { ca } = running;
    const applicant = await givenApplicant(ca);
    const first = await order(applicant, 'shop.corp.example');
    const id = first.authorizationIds[0];
    await validate(id);
    const [, ...made] = await Promise.all([
      deactivateAuthorization(ca, applicant, id),
      ...Array.from({ length: 16 }, () => order(applicant, 'shop.corp.example')),
    ]);
    for (const { id: orderId, authorizationIds } of made) {
      const { state } = await getAcmeOrder(ca, applicant, orderId);
      expect(state).toBe(authorizationIds[0] === id ? 'invalid' : 'pending');
    }
  });
});

/** Runs `work` while a transaction holds the account, and lets it end with `change` once `work` waits. */
async function whileHeld<Result>(
  accountId: string,
  change: (tx: Parameters<Parameters<typeof running.ca.database.inTransaction>[0]>[0]) => Promise<unknown>,
  work: () => Promise<Result>,
): Promise<Result> {
  const { db } = running.ca.database;
  let result: Promise<Result> | undefined;
  await running.ca.database.inTransaction(async (tx) => {
    await sql`select from acme_keys where id = ${accountId} for update`.execute(tx);
    result = work();
    await waitingQueries(db, 1);
    await change(tx);
  });
  if (result === undefined) throw new Error('the work was not begun');
  return result;
}
