// What a result of a validation costs when many are begun at once after a quiet time: that of the rows which it is about.
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { Ca } from '../../src/core/ca.ts';
import { claimChallenges } from '../../src/core/validate-challenge.ts';
import { type ChallengeClaim, keepFailure, settleInvalid, settleValid } from '../../src/store/challenge-results.ts';
import type { Db } from '../../src/store/database.ts';
import { testCa } from '../support/ca.ts';
import { type GivenClient, givenClient, givenResponded } from '../support/given-challenge.ts';
import { openPlanner } from '../support/plans.ts';

const BEGUN = 2_000;
const LEASE_MS = 60_000;

/** Of one account, each with one challenge: begun by its client, or over long ago. */
async function many(ca: Ca, client: GivenClient, states: { readonly order: string; readonly challenge: string }) {
  const { orderId, challenges } = await givenResponded(ca, client, [{ value: 'many.corp.example' }]);
  await sql`
    with copied as (
      select gen_random_uuid() as order_id, gen_random_uuid() as authorization_id
        from generate_series(1, ${sql.lit(BEGUN)})),
    ordered as (
      insert into orders (id, acme_key_id, directory_id, created_at, expires_at, state, profile, identifiers)
      select c.order_id, acme_key_id, directory_id, created_at, expires_at, ${states.order}::text, profile, identifiers
        from copied c, orders where id = ${orderId}),
    authorized as (
      insert into authorizations (id, acme_key_id, created_at, expires_at, state, type, value, wildcard, auto)
      select c.authorization_id, acme_key_id, created_at, expires_at, state, type, value, wildcard, auto
        from copied c, authorizations where id = ${challenges[0]?.authorizationId}),
    linked as (
      insert into order_authorizations (order_id, authorization_id, position)
      select order_id, authorization_id, 0 from copied)
    insert into challenges (id, authorization_id, type, state, token, key_authorization, account_url, due_at)
    select gen_random_uuid(), c.authorization_id, type, ${states.challenge}::text, token, key_authorization, account_url, due_at
      from copied c, challenges where id = ${challenges[0]?.id}`.execute(ca.database.db);
}

const error = { type: 'unauthorized', detail: 'It was not found.' } as const;

const results: Readonly<Record<string, (db: Db, claim: ChallengeClaim, now: Date) => Promise<unknown>>> = {
  'a success': (db, claim, now) =>
    settleValid(db, claim, { now, latestEnd: claim.expires_at, caaCheckedAt: now, others: error }),
  'a failure': (db, claim, now) => settleInvalid(db, claim, { now, error, others: error, orderError: error }),
  'a failure that is tried again': (db, claim, now) => keepFailure(db, claim, error, now),
};

test.each(Object.entries(results))('%s reads its own rows, however many more are begun', async (_, settle) => {
  await using running = await testCa();
  const { ca } = running;
  const client = await givenClient(ca);
  const { db } = ca.database;
  await many(ca, client, { order: 'invalid', challenge: 'pending' });
  await db.updateTable('challenges').set({ state: 'pending' }).where('state', '=', 'processing').execute();
  await db.updateTable('orders').set({ state: 'invalid' }).execute();
  await sql`vacuum analyze orders, authorizations, order_authorizations, challenges`.execute(db);
  await givenResponded(ca, client, [{}]);
  const [claim] = await claimChallenges(ca, 1, LEASE_MS);
  if (claim === undefined) throw new Error('Nothing was claimed.');
  await many(ca, client, { order: 'pending', challenge: 'processing' });
  await using planner = openPlanner(ca.database, running.databaseUrl);

  // Run once for nobody, it leaves the rows to the run whose plan is read.
  const [plan] = await planner.plansOf('force_generic_plan', async (other) => {
    await settle(other, { ...claim, attempt: 2 }, ca.clock.now());
    await db.updateTable('challenges').set({ attempts: 2 }).where('id', '=', claim.id).execute();
  });

  expect(plan?.pages).toBeLessThanOrEqual(60);
  const { state, failures } = await db
    .selectFrom('challenges')
    .select(['state', 'failures'])
    .where('id', '=', claim.id)
    .executeTakeFirstOrThrow();
  expect(state !== 'processing' || failures !== null).toBe(true);
});
