import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Ca } from '../../src/core/ca.ts';
import type { ChallengeClaim } from '../../src/core/challenge-results.ts';
import type { CaaRecord, ChallengeProber, ProbeOutcome } from '../../src/core/ports.ts';
import { claimChallenges, postponeChallenge, validateChallenge } from '../../src/core/validate-challenge.ts';
import { createCaaResolver } from '../../src/prober/caa.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { type Applicant, anApplicant } from '../support/applicant.ts';
import { type TestCa, testCa } from '../support/ca.ts';
import { eventually } from '../support/eventually.ts';
import {
  type GivenClient,
  type GivenName,
  givenAuthorized,
  givenClient,
  givenResponded,
  outcomeOf,
} from '../support/given-challenge.ts';
import { waitingQueries } from '../support/waiting.ts';

const never = new AbortController().signal;
const MINUTE_MS = 60_000;
const name = 'shop.corp.example';
const valid: ProbeOutcome = { outcome: 'valid' };
const wrong: ProbeOutcome = { outcome: 'failed', type: 'incorrectResponse', detail: 'Something else was there.' };
const noCaa = async (of: string) =>
  of.split('.').map((_, index, labels) => ({ name: labels.slice(index).join('.'), records: [] }));

let given: TestCa;
let client: GivenClient;
let prober: ChallengeProber;
let caa: readonly CaaRecord[];
beforeEach(async () => {
  prober = async () => valid;
  caa = [];
  given = await testCa({
    prober: (probe, signal) => prober(probe, signal),
    caa: async (of) => (caa.length > 0 ? [{ name: of, records: caa }] : noCaa(of)),
  });
  client = await givenClient(given.ca);
});
afterEach(() => given[Symbol.asyncDispose]());

const responded = (...names: readonly GivenName[]) => givenResponded(given.ca, client, names);
const claim = async (): Promise<readonly ChallengeClaim[]> => claimChallenges(given.ca, 20, MINUTE_MS);
const onlyClaim = async (): Promise<ChallengeClaim> => {
  const [first, ...more] = await claim();
  expect(more).toEqual([]);
  return first ?? expect.fail('nothing was due');
};
const run = (one: ChallengeClaim, ca: Ca = given.ca) => validateChallenge(ca, one, never);
const runDue = async (): Promise<number> => {
  const claims = await claim();
  await Promise.all(claims.map((one) => run(one)));
  return claims.length;
};
const statesOf = async (orderId: string) => {
  const { order, authorizations, challenges } = await outcomeOf(given.ca, orderId);
  const state = (row: { readonly state: string }) => row.state;
  return { order: order.state, authorizations: authorizations.map(state), challenges: challenges.map(state) };
};
const now = () => given.ca.clock.now();
const inMs = (ms: number) => new Date(now().getTime() + ms);

describe('with a worker, over the network', () => {
  let applicant: Applicant;
  let networked: TestCa;
  beforeEach(async () => {
    applicant = await anApplicant();
    networked = await testCa({ prober: applicant.prober(), caa: createCaaResolver(applicant.resolver) });
  });
  afterEach(async () => {
    await networked[Symbol.asyncDispose]();
    await applicant[Symbol.asyncDispose]();
  });

  test.each(['http-01', 'dns-01', 'tls-alpn-01', 'dns-account-01'] as const)(
    'ORD-24, G-14: a %s that is met makes its order ready in the same moment',
    async (type) => {
      const { ca } = networked;
      await using _ = startWorker(ca);
      applicant.zone['*'] = (asked) => (asked === 'A' ? { a: ['127.0.0.1'] } : 'nodata');
      const name = { responded: [type], prepare: applicant.answer };
      const { orderId } = await givenResponded(ca, await givenClient(ca), [name]);
      await eventually('it is ready', async () => (await outcomeOf(ca, orderId)).order.state === 'ready');
      const at = expect.any(Date);
      expect(await outcomeOf(ca, orderId)).toMatchObject({
        order: { state: 'ready', error: null },
        authorizations: [{ state: 'valid', validated_at: at, caa_checked_at: at }],
        challenges: [
          { state: 'valid', validated_at: at, error: null, failures: null, due_at: null, lease_until: null },
        ],
      });
    },
  );

  test('a name whose DNS cannot be asked for CAA is not validated', async () => {
    const { ca } = networked;
    applicant.zone['*'] = (asked) => (asked === 'CAA' ? 'servfail' : { a: ['127.0.0.1'] });
    const { orderId } = await givenResponded(ca, await givenClient(ca), [{ prepare: applicant.answer }]);
    const [one] = await claimChallenges(ca, 20, MINUTE_MS);
    await validateChallenge(ca, one ?? expect.fail(), never);
    const { challenges: rows } = await outcomeOf(ca, orderId);
    expect(rows).toMatchObject([
      { state: 'processing', failures: [{ type: 'caa', detail: `CAA of ${name} could not be looked up: SERVFAIL.` }] },
    ]);
  });
});

describe('success', () => {
  test('CHA-9: authorization and challenge bear the time, and the end of the authorization stays', async () => {
    const { orderId } = await responded({});
    given.ca.clock.advance(5_000);
    expect(await runDue()).toBe(1);
    expect(await outcomeOf(given.ca, orderId)).toEqual({
      order: { state: 'ready', error: null },
      authorizations: [
        { state: 'valid', validated_at: now(), caa_checked_at: now(), expires_at: inMs(86_400_000 - 5_000) },
      ],
      challenges: [
        { state: 'valid', validated_at: now(), error: null, failures: null, due_at: null, lease_until: null },
      ],
    });
    expect(await runDue()).toBe(0);
  });

  test('no authorization lives longer than a day from then on', async () => {
    const { orderId } = await responded({ expiresAt: inMs(7 * 86_400_000) });
    await runDue();
    expect((await outcomeOf(given.ca, orderId)).authorizations).toMatchObject([{ expires_at: inMs(86_400_000) }]);
  });

  test('the probe is given what the client responded with', async () => {
    const probes: unknown[] = [];
    prober = async (probe) => {
      probes.push(probe);
      return valid;
    };
    const { challenges } = await responded({ wildcard: true, value: 'corp.example', responded: ['dns-account-01'] });
    await runDue();
    const [{ id: _id, authorizationId: _authorization, ...probe } = expect.fail()] = challenges;
    expect(probes).toEqual([{ ...probe, directoryId: client.directoryId }]);
  });

  test('an order is ready with the last of its authorizations, not before', async () => {
    const { orderId } = await responded(
      { value: 'a.example' },
      { value: 'b.example' },
      { value: 'c.example', state: 'valid' },
    );
    const [first, second] = await claim();
    await run(first ?? expect.fail());
    expect((await statesOf(orderId)).order).toBe('pending');
    await run(second ?? expect.fail());
    expect(await statesOf(orderId)).toMatchObject({ order: 'ready', authorizations: ['valid', 'valid', 'valid'] });
  });

  test('an authorization that has ended meanwhile does not make an order ready', async () => {
    const { orderId } = await responded({}, { value: 'b.example', state: 'valid', expiresAt: inMs(1_000) });
    given.ca.clock.advance(1_000);
    await runDue();
    expect(await statesOf(orderId)).toMatchObject({ order: 'pending', authorizations: ['valid', 'valid'] });
  });

  test('ORD-24: two that end together do not both wait for the other', async () => {
    const { orderId } = await responded({ value: 'a.example' }, { value: 'b.example' });
    const { db } = given.ca.database;
    await db
      .transaction()
      .execute(async (tx) => {
        await tx.selectFrom('orders').select('id').where('id', '=', orderId).forUpdate().execute();
        const both = runDue();
        await waitingQueries(db, 2);
        return { both };
      })
      .then(({ both }) => both);
    expect((await statesOf(orderId)).order).toBe('ready');
  });

  test('without an order it is the authorization alone that becomes valid', async () => {
    const { authorizationId } = await givenAuthorized(given.ca, client, {});
    await runDue();
    const row = given.ca.database.db.selectFrom('authorizations').select('state').where('id', '=', authorizationId);
    expect(await row.executeTakeFirst()).toEqual({ state: 'valid' });
  });

  test('an order that was cancelled meanwhile stays so', async () => {
    const { orderId } = await responded({});
    const one = await onlyClaim();
    await given.ca.database.db.updateTable('orders').set({ state: 'invalid' }).where('id', '=', orderId).execute();
    await run(one);
    expect(await statesOf(orderId)).toEqual({ order: 'invalid', authorizations: ['valid'], challenges: ['valid'] });
  });
});

describe('CHA-7, CHA-8: failure', () => {
  test('is told after four tries over twelve seconds, with all of them; authorization and order end with it', async () => {
    const details = ['first', 'second', 'third', 'fourth'];
    let tries = 0;
    prober = async () => ({ outcome: 'failed', type: 'connection', detail: details[tries++] ?? expect.fail() });
    const { orderId } = await responded({});
    for (const waitMs of [2_000, 4_000, 6_000]) {
      expect(await runDue()).toBe(1);
      expect(await outcomeOf(given.ca, orderId)).toMatchObject({
        order: { state: 'pending', error: null },
        authorizations: [{ state: 'pending' }],
        challenges: [{ state: 'processing', error: null, due_at: inMs(waitMs), lease_until: null }],
      });
      given.ca.clock.advance(waitMs - 1);
      expect(await runDue()).toBe(0);
      given.ca.clock.advance(1);
    }
    expect(await runDue()).toBe(1);
    const problem = { type: 'connection', detail: 'fourth' };
    expect(await outcomeOf(given.ca, orderId)).toMatchObject({
      order: {
        state: 'invalid',
        error: { ...problem, subproblems: [{ ...problem, identifier: { type: 'dns', value: name } }] },
      },
      authorizations: [{ state: 'invalid', validated_at: null }],
      challenges: [
        {
          state: 'invalid',
          error: { ...problem, subproblems: details.map((detail) => ({ type: 'connection', detail })) },
          failures: null,
          due_at: null,
          lease_until: null,
        },
      ],
    });
  });

  test('is forgotten when a later try succeeds', async () => {
    prober = async () => wrong;
    const { orderId } = await responded({});
    await runDue();
    prober = async () => valid;
    given.ca.clock.advance(2_000);
    await runDue();
    expect(await outcomeOf(given.ca, orderId)).toMatchObject({
      order: { state: 'ready' },
      challenges: [{ state: 'valid', error: null, failures: null }],
    });
  });

  const failFinally = async (): Promise<void> => {
    for (const waitMs of [2_000, 4_000, 6_000, 0]) {
      await runDue();
      given.ca.clock.advance(waitMs);
    }
  };

  test('the order names the identifier as it was ordered', async () => {
    prober = async () => wrong;
    const { orderId } = await responded({ value: 'corp.example', wildcard: true, responded: ['dns-01'] });
    await failFinally();
    expect((await outcomeOf(given.ca, orderId)).order).toMatchObject({
      error: { subproblems: [{ identifier: { type: 'dns', value: '*.corp.example' } }] },
    });
  });

  test('AUT-4, ORD-25: one of several ends the order, and leaves the other authorizations', async () => {
    prober = async ({ identifier }) => (identifier.value === 'a.example' ? wrong : valid);
    const { orderId } = await responded({ value: 'a.example' }, { value: 'b.example' });
    await failFinally();
    expect(await statesOf(orderId)).toEqual({
      order: 'invalid',
      authorizations: ['invalid', 'valid'],
      challenges: ['invalid', 'valid'],
    });
  });

  test('what leans on nothing of it goes on', async () => {
    prober = async () => wrong;
    await responded({});
    const other = await responded({ value: 'other.example', state: 'valid' });
    await failFinally();
    expect((await statesOf(other.orderId)).order).toBe('pending');
  });
});

describe('CAA', () => {
  const issue = (value: string): CaaRecord => ({ flags: 0, tag: 'issue', value });
  const failuresOf = async (orderId: string) => (await outcomeOf(given.ca, orderId)).challenges[0]?.failures;

  test('a record for somebody else forbids', async () => {
    caa = [issue('other.example')];
    const { orderId } = await responded({});
    await runDue();
    expect(await failuresOf(orderId)).toMatchObject([
      { type: 'caa', detail: expect.stringContaining('names another issuer') },
    ]);
  });

  test('CAA-7: accounturi may name the account under any slug of the directory', async () => {
    const { db } = given.ca.database;
    const alias = { slug: 'old', directory_id: client.directoryId, created_at: now() };
    await db.insertInto('directory_slugs').values(alias).execute();
    for (const slug of [client.slug, 'old']) {
      caa = [issue(`web.acmery.internal; accounturi=${client.accountUrl.replace(client.slug, slug)}`)];
      const { orderId } = await responded({});
      await runDue();
      expect((await statesOf(orderId)).order).toBe('ready');
    }
    caa = [issue(`web.acmery.internal; accounturi=${client.accountUrl}x`)];
    const { orderId } = await responded({});
    await runDue();
    expect(await failuresOf(orderId)).toMatchObject([
      { type: 'caa', detail: expect.stringContaining('another account') },
    ]);
  });

  test('CAA-8: validationmethods must list the method that was used', async () => {
    caa = [issue('web.acmery.internal; validationmethods=dns-01')];
    const { orderId } = await responded({ responded: ['http-01'] });
    await runDue();
    expect(await failuresOf(orderId)).toMatchObject([{ type: 'caa' }]);
    const other = await responded({ responded: ['dns-01'] });
    await runDue();
    expect((await statesOf(other.orderId)).order).toBe('ready');
  });

  test('CAA-2: a wildcard is asked for as one', async () => {
    caa = [issue('other.example'), { flags: 0, tag: 'issuewild', value: 'web.acmery.internal' }];
    const { orderId } = await responded({ wildcard: true, responded: ['dns-01'] });
    await runDue();
    expect((await statesOf(orderId)).order).toBe('ready');
  });

  test('CAA-11: a directory may demand a record', async () => {
    const { db } = given.ca.database;
    await db.updateTable('directories').set({ on_missing_caa: 'fail' }).where('id', '=', client.directoryId).execute();
    const { orderId } = await responded({});
    await runDue();
    expect(await failuresOf(orderId)).toMatchObject([{ type: 'caa', detail: expect.stringContaining('demands one') }]);
  });

  test('CAA-12: an address has none', async () => {
    caa = [issue('other.example')];
    const { orderId } = await responded({ type: 'ip', value: '10.0.0.5' });
    await runDue();
    expect(await outcomeOf(given.ca, orderId)).toMatchObject({
      order: { state: 'ready' },
      authorizations: [{ state: 'valid', caa_checked_at: null }],
    });
  });
});

describe('CHA-10: the result is written once', () => {
  test('CHA-11: what a dead worker had begun is begun again by another, and the late one changes nothing', async () => {
    const { orderId } = await responded({});
    const late = await onlyClaim();
    expect(await claim()).toEqual([]);
    given.ca.clock.advance(MINUTE_MS);
    const again = await onlyClaim();
    expect(again.attempt).toBe(2);
    const before = await outcomeOf(given.ca, orderId);
    for (const outcome of [valid, wrong]) {
      prober = async () => outcome;
      await run(late);
      await postponeChallenge(given.ca, late, new Date(0));
      expect(await outcomeOf(given.ca, orderId)).toEqual(before);
    }
    prober = async () => valid;
    await run(again);
    expect((await statesOf(orderId)).order).toBe('ready');
    expect(given.logLines.filter((line) => line.includes('"dropped"'))).toHaveLength(2);
  });

  test('a late failure does not undo a success', async () => {
    prober = async () => wrong;
    const { orderId } = await responded({});
    for (const waitMs of [2_000, 4_000, 6_000]) {
      await runDue();
      given.ca.clock.advance(waitMs);
    }
    const late = await onlyClaim();
    given.ca.clock.advance(MINUTE_MS);
    const again = await onlyClaim();
    prober = async () => valid;
    await run(again);
    prober = async () => wrong;
    await run(late);
    expect(await statesOf(orderId)).toEqual({ order: 'ready', authorizations: ['valid'], challenges: ['valid'] });
  });

  test('of two challenges that are looked for, one settles the authorization, and the other ends with it', async () => {
    const { orderId } = await responded({ responded: ['http-01', 'dns-01'] });
    await runDue();
    const { order, authorizations, challenges } = await outcomeOf(given.ca, orderId);
    expect([order.state, authorizations[0]?.state]).toEqual(['ready', 'valid']);
    expect(challenges.map(({ state }) => state).sort()).toEqual(['invalid', 'valid']);
    const detail = 'Another challenge of the authorization has decided it.';
    expect(challenges.find(({ state }) => state === 'invalid')?.error).toEqual({ type: 'unauthorized', detail });
    expect(await runDue()).toBe(0);
  });

  test.each([
    ['succeeds', 'invalid', ['invalid', 'invalid']],
    ['fails', 'ready', ['invalid', 'valid']],
  ])(
    'a challenge of an authorization that is decided while it %s changes nothing of it',
    async (how, order, states) => {
      const first = how === 'succeeds' ? wrong : valid;
      prober = async ({ type }) => (type === 'http-01' ? first : wrong);
      const { orderId } = await responded({ responded: ['http-01', 'dns-01'] });
      for (const waitMs of how === 'succeeds' ? [2_000, 4_000, 6_000] : []) {
        await runDue();
        given.ca.clock.advance(waitMs);
      }
      const claims = await claim();
      const of = (type: string) => claims.find((one) => one.type === type) ?? expect.fail();
      await run(of('http-01'));
      prober = async () => (how === 'succeeds' ? valid : wrong);
      await run(of('dns-01'));
      const { challenges, ...rest } = await statesOf(orderId);
      expect(rest.order).toBe(order);
      expect(challenges.sort()).toEqual(states);
    },
  );

  test('an authorization that was given up during the probe stays so, and its challenge ends', async () => {
    const { orderId, challenges } = await responded({});
    const { db } = given.ca.database;
    prober = async () => {
      const id = challenges[0]?.authorizationId ?? expect.fail();
      await db.updateTable('authorizations').set({ state: 'deactivated' }).where('id', '=', id).execute();
      return valid;
    };
    await runDue();
    expect(await statesOf(orderId)).toEqual({
      order: 'pending',
      authorizations: ['deactivated'],
      challenges: ['invalid'],
    });
    expect(await runDue()).toBe(0);
  });
});

describe('what is not looked for', () => {
  beforeEach(() => {
    prober = () => expect.fail('nothing was to be probed');
  });

  test.each<[string, GivenName]>([
    ['that was given up', { state: 'deactivated' }],
    ['that has expired', { expiresAt: new Date(0) }],
  ])('a challenge of an authorization %s', async (_what, authorization) => {
    const { orderId } = await responded(authorization);
    const before = await statesOf(orderId);
    expect(await runDue()).toBe(1);
    expect(await statesOf(orderId)).toEqual({ ...before, challenges: ['invalid'] });
    expect(await runDue()).toBe(0);
  });

  test.each<[string, GivenName]>([
    ['http-01 of a wildcard', { wildcard: true, value: 'corp.example', responded: ['http-01'] }],
    ['tls-alpn-01 of a wildcard', { wildcard: true, value: 'corp.example', responded: ['tls-alpn-01'] }],
    ['dns-01 of an address', { type: 'ip', value: '10.0.0.5', responded: ['dns-01'] }],
  ])('AUT-8: %s', async (_what, authorization) => {
    const { orderId } = await responded(authorization);
    await runDue();
    expect(await statesOf(orderId)).toEqual({
      order: 'invalid',
      authorizations: ['invalid'],
      challenges: ['invalid'],
    });
  });
});

describe('what is given back', () => {
  test('a challenge of a busy target waits, longer each time, and no try is counted', async () => {
    prober = async () => ({ outcome: 'busy' });
    const { orderId } = await responded({});
    for (const waitMs of [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]) {
      await runDue();
      expect((await outcomeOf(given.ca, orderId)).challenges).toMatchObject([
        { state: 'processing', failures: null, due_at: inMs(waitMs), lease_until: null },
      ]);
      given.ca.clock.advance(waitMs);
    }
  });

  test('a worker that ends gives back what it has begun, due at once', async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    prober = (_probe, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        begin();
      });
    const { orderId } = await responded({});
    const worker = startWorker(given.ca);
    await begun;
    await worker[Symbol.asyncDispose]();
    expect((await outcomeOf(given.ca, orderId)).challenges).toMatchObject([
      { state: 'processing', failures: null, due_at: now(), lease_until: null },
    ]);
    prober = async () => valid;
    await runDue();
    expect((await statesOf(orderId)).order).toBe('ready');
  });

  test('an error that nobody expected is tried again', async () => {
    prober = () => Promise.reject(new Error('a bug'));
    const { orderId } = await responded({});
    await using _ = startWorker(given.ca);
    await eventually('it is given back', async () => {
      const [challenge] = (await outcomeOf(given.ca, orderId)).challenges;
      return challenge?.lease_until === null && challenge.due_at?.getTime() === inMs(1_000).getTime();
    });
    expect(given.logLines.join('')).toContain('a bug');
  });
});

test('each try leaves a line with what came of it', async () => {
  const { challenges } = await responded({});
  prober = async () => wrong;
  await runDue();
  prober = async () => valid;
  given.ca.clock.advance(2_000);
  await runDue();
  const lines = given.logLines.filter((line) => line.includes('challenge tried')).map((line) => JSON.parse(line));
  expect(lines).toMatchObject([
    { type: 'http-01', identifier: name, outcome: 'retried', problem: 'Something else was there.' },
    { type: 'http-01', identifier: name, outcome: 'valid' },
  ]);
  expect(lines[0].durationMs).toEqual(expect.any(Number));
  expect(given.logLines.join('')).not.toContain(challenges[0]?.keyAuthorization);
});
