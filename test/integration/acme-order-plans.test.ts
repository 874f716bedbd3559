// What the statements behind orders cost in an account that has begun thousands: the same as in an empty one.
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newAuthorizations, reusableAt } from '../../src/core/authorization-offer.ts';
import { challengeOffers } from '../../src/core/challenge-offers.ts';
import { parseIdentifiers } from '../../src/core/identifiers.ts';
import { newUuid } from '../../src/core/ids.ts';
import { newOrder } from '../../src/core/new-order.ts';
import { findAcmeOrder } from '../../src/store/acme-orders.ts';
import { findAuthorization } from '../../src/store/authorizations.ts';
import { beginValidation, findChallenge } from '../../src/store/challenges.ts';
import type { Db } from '../../src/store/database.ts';
import { findIssuer } from '../../src/store/issuers.ts';
import { insertOrder } from '../../src/store/new-order.ts';
import { type TestCa, testCa } from '../support/ca.ts';
import { type GivenApplicant, givenApplicant } from '../support/given-applicant.ts';
import { openPlanner, type Plan, type Planner, planModes } from '../support/plans.ts';

const BEGUN = 5_000;
/** A plan is made once a connection: what it reads of these it goes on reading of however many there come to be. */
const FEW = 20;

let running: TestCa;
let planner: Planner;
let crowded: GivenApplicant;
let empty: GivenApplicant;
let one: { readonly order: string; readonly authorization: string; readonly challenge: string };

beforeAll(async () => {
  running = await testCa();
  const { ca } = running;
  [crowded, empty] = [await givenApplicant(ca), await givenApplicant(ca)];
  const order = await newOrder(ca, crowded, { identifiers: [{ type: 'dns', value: 'shop.corp.example' }] });
  const [authorization = ''] = order.authorizationIds;
  const { db } = ca.database;
  const { id: challenge } = await db
    .selectFrom('challenges')
    .select('id')
    .where('authorization_id', '=', authorization)
    .where('type', '=', 'http-01')
    .executeTakeFirstOrThrow();
  one = { order: order.id, authorization, challenge };
  await copies(db, order.id, authorization, BEGUN);
  await sql`vacuum analyze orders, authorizations, order_authorizations, challenges, acme_keys`.execute(db);
  planner = openPlanner(ca.database, running.databaseUrl);
});
afterAll(async () => {
  await planner[Symbol.asyncDispose]();
  await running[Symbol.asyncDispose]();
});

/** Open orders of the same name in one account. */
const copies = (db: Db, orderId: string, authorizationId: string, count: number): Promise<unknown> =>
  sql`
    with copied as (
      select gen_random_uuid() as order_id, gen_random_uuid() as authorization_id
        from generate_series(1, ${sql.lit(count)})),
    ordered as (
      insert into orders (id, acme_key_id, directory_id, created_at, expires_at, state, profile, identifiers)
      select c.order_id, acme_key_id, directory_id, created_at, expires_at, state, profile, identifiers
        from copied c, orders where id = ${orderId}),
    authorized as (
      insert into authorizations (id, acme_key_id, created_at, expires_at, state, type, value, wildcard, auto)
      select c.authorization_id, acme_key_id, created_at, expires_at, state, type, value, wildcard, auto
        from copied c, authorizations where id = ${authorizationId}),
    linked as (
      insert into order_authorizations (order_id, authorization_id, position)
      select order_id, authorization_id, 0 from copied)
    insert into challenges (id, authorization_id, type, state, token)
    select gen_random_uuid(), c.authorization_id, type, state, token
      from copied c, challenges where challenges.authorization_id = ${authorizationId}`.execute(db);

/** Makes an order and takes it away again, so that its statement can be run once more for its plan. */
async function orderAndForget(db: Db, applicant: GivenApplicant): Promise<void> {
  const now = running.ca.clock.now();
  const identifiers = [{ type: 'dns', value: 'shop.corp.example' }] as const;
  const wanted = newAuthorizations(parseIdentifiers(identifiers).identifiers, { now, auto: false });
  const [{ id: authorization } = { id: '' }] = wanted.list;
  const order = {
    id: newUuid(now),
    not_before: null,
    not_after: null,
    profile: 'server',
    identifiers,
    replaces: null,
    replacedCertId: undefined,
  };
  const asSeen = { ...applicant, issuerVersion: applicant.directory.issuerVersion };
  const inserted = await insertOrder(db, { seen: asSeen, order, wanted, reuse: reusableAt(now) });
  expect(inserted).toMatchObject({ state: 'pending', authorization_ids: [authorization] });
  await db.deleteFrom('order_authorizations').where('order_id', '=', order.id).execute();
  await db.deleteFrom('orders').where('id', '=', order.id).execute();
  await db.deleteFrom('challenges').where('authorization_id', '=', authorization).execute();
  await db.deleteFrom('authorizations').where('id', '=', authorization).execute();
}

async function planOf(mode: (typeof planModes)[number], work: (db: Db) => Promise<unknown>): Promise<Plan> {
  const [plan] = await planner.plansOf(mode, work);
  if (plan === undefined) throw new Error('No statement was sent.');
  return plan;
}

describe.each(planModes)('by %s, planned while there is little', (mode) => {
  test('a new order reads nothing that others have begun', async () => {
    await using young = await testCa();
    const { ca } = young;
    const applicant = await givenApplicant(ca);
    const order = await newOrder(ca, applicant, { identifiers: [{ type: 'dns', value: 'other.corp.example' }] });
    await copies(ca.database.db, order.id, order.authorizationIds[0] ?? '', FEW);
    await sql`vacuum analyze`.execute(ca.database.db);
    await using youngPlanner = openPlanner(ca.database, young.databaseUrl);
    const [plan] = await youngPlanner.plansOf(mode, (db) => orderAndForget(db, applicant));
    expect(plan?.rowsRead).toBeLessThan(FEW);
  });
});

describe.each(planModes)('by %s', (mode) => {
  test('a new order looks at a bounded number of what its account has begun for the same name', async () => {
    const inEmpty = await planOf(mode, (db) => orderAndForget(db, empty));
    const inCrowded = await planOf(mode, (db) => orderAndForget(db, crowded));
    expect(inCrowded.indexes).toContain('authorizations_reuse_idx');
    expect(inCrowded.rowsRead - inEmpty.rowsRead).toBeLessThanOrEqual(101);
    expect(inCrowded.pages - inEmpty.pages).toBeLessThanOrEqual(150);
  });

  const reads: Readonly<Record<string, (db: Db) => Promise<unknown>>> = {
    'an order': (db) => findAcmeOrder(db, { accountId: crowded.account.id, id: one.order }),
    'an authorization': (db) => findAuthorization(db, { accountId: crowded.account.id, id: one.authorization }),
    'a challenge': (db) =>
      findChallenge(db, { accountId: crowded.account.id, id: one.challenge, now: response().now, failures }),
    'an issuer': (db) => findIssuer(db, crowded.directory.signing_cert_id),
    'a response': (db) => beginValidation(db, holder(), one.challenge, response()),
    'a response that is under lease': (db) => beginValidation(db, holder(), one.challenge, response(), new Date()),
  };
  const response = () => ({
    now: running.ca.clock.now(),
    thumbprint: 'thumbprint',
    accountUrl: crowded.kid,
    offered: challengeOffers,
    failures,
  });
  const failures = { kind: 'failures', count: 100, perMs: 3_600_000 };
  const holder = () => ({ accountId: crowded.account.id, directoryId: crowded.directory.id });

  test.each(Object.entries(reads))('%s is found by its id', async (_, read) => {
    const plan = await planOf(mode, read);
    expect(plan.rowsRead).toBeLessThanOrEqual(20);
    expect(plan.pages).toBeLessThanOrEqual(40);
  });
});
