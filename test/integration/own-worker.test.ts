// Responses to challenges in a process that has a worker: he tries at once, and gives back what he cannot do.
import { once } from 'node:events';
import { sql } from 'kysely';
import { beforeEach, describe, expect, test } from 'vitest';
import { deactivateAuthorization, getAuthorization } from '../../src/core/authorizations.ts';
import type { Ca } from '../../src/core/ca.ts';
import { getChallenge, respondToChallenge } from '../../src/core/challenges.ts';
import { newOrder } from '../../src/core/new-order.ts';
import { OwnWorker } from '../../src/core/own-worker.ts';
import type { CaaResolver, ChallengeProber, ProbeOutcome } from '../../src/core/ports.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { type TestCa, testCa } from '../support/ca.ts';
import { eventually } from '../support/eventually.ts';
import { type GivenApplicant, givenApplicant } from '../support/given-applicant.ts';

const MINUTE_MS = 60_000;

const noCaa = async (of: string) =>
  of.split('.').map((_, index, labels) => ({ name: labels.slice(index).join('.'), records: [] }));

let running: TestCa;
let applicant: GivenApplicant;
let prober: ChallengeProber;
beforeEach(async () => {
  prober = async (_, signal) => {
    signal.throwIfAborted();
    return { outcome: 'valid' };
  };
  running = await testCa({ prober: (...asked) => prober(...asked), caa: noCaa });
  applicant = await givenApplicant(running.ca);
  return () => running[Symbol.asyncDispose]();
});

const db = () => running.ca.database.db;

/** The http-01 challenge of a new order. */
async function aChallenge(value = 'shop.corp.example'): Promise<string> {
  const order = await newOrder(running.ca, applicant, { identifiers: [{ type: 'dns', value }] });
  const { challenges } = await getAuthorization(running.ca, applicant, order.authorizationIds[0]);
  return challenges.find(({ type }) => type === 'http-01')?.id ?? '';
}

const stored = (id: string) =>
  db()
    .selectFrom('challenges')
    .select(['state', 'due_at', 'lease_until', 'attempts'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();

async function failuresOf(id: string) {
  const { failures } = await db()
    .selectFrom('challenges')
    .select('failures')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return failures ?? [];
}

const becomes = (id: string, state: string) =>
  eventually(`the challenge is ${state}`, async () => (await stored(id)).state === state);

test('a try that takes long is under the lease of the own worker, and no other is told', async () => {
  const { ca } = running;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  prober = async () => {
    await released;
    return { outcome: 'valid' };
  };
  const told: (string | undefined)[] = [];
  await using listener = ca.database.listen({ acmery_due: (payload) => void told.push(payload) });
  await eventually('somebody listens', () => listener.isListening);
  await using _ = startWorker(ca);
  const id = await aChallenge();

  const challenge = await respondToChallenge(ca, applicant, id);

  const now = ca.clock.now();
  expect(challenge).toMatchObject({ state: 'processing', retryAfterSeconds: 1 });
  const leaseUntil = new Date(now.getTime() + MINUTE_MS);
  expect(await stored(id)).toEqual({ state: 'processing', due_at: now, lease_until: leaseUntil, attempts: 1 });
  release();
  await becomes(id, 'valid');
  await sql`notify acmery_due, 'the end'`.execute(db());
  await eventually('all that was told has come', () => told.includes('the end'));
  expect(told).not.toContain('challenge');
});

test('a response tells what the first try made of it, where that comes soon', async () => {
  const { ca } = running;
  await using _ = startWorker(ca);

  const met = await aChallenge();
  expect(await respondToChallenge(ca, applicant, met)).toMatchObject({
    state: 'valid',
    validatedAt: ca.clock.now(),
    retryAfterSeconds: undefined,
  });
  expect(await stored(met)).toEqual({ state: 'valid', due_at: null, lease_until: null, attempts: 1 });

  prober = async () => ({ outcome: 'failed', type: 'connection', detail: 'Nobody is there.' });
  const id = await aChallenge('other.corp.example');
  expect(await respondToChallenge(ca, applicant, id)).toMatchObject({ state: 'processing', retryAfterSeconds: 1 });
  await eventually('the failure is kept', async () => (await failuresOf(id)).length > 0);
  expect(await failuresOf(id)).toMatchObject([{ type: 'connection' }]);
});

test('the challenge keeps what it was responded with (KEY-6)', async () => {
  const { ca } = running;
  await using _ = startWorker(ca);
  const id = await aChallenge();

  const { token } = await respondToChallenge(ca, applicant, id);

  const row = db().selectFrom('challenges').select(['key_authorization', 'account_url']).where('id', '=', id);
  expect(await row.executeTakeFirst()).toEqual({
    key_authorization: `${token}.${applicant.account.thumbprint.toString('base64url')}`,
    account_url: applicant.kid,
  });
});

test('responses that come at once share one try', async () => {
  const { ca } = running;
  let tries = 0;
  prober = async () => {
    tries += 1;
    return { outcome: 'valid' };
  };
  await using _ = startWorker(ca);
  const id = await aChallenge();

  const responses = await Promise.all(Array.from({ length: 5 }, () => respondToChallenge(ca, applicant, id)));

  expect(responses.map(({ state }) => state)).toEqual(Array.from({ length: 5 }, () => 'valid'));
  expect(tries).toBe(1);
});

test('responses that come to two replicas at once are both told of the one success', async () => {
  const { ca } = running;
  const other = { ...ca, ownWorker: new OwnWorker() };
  const { promise: bothLook, resolve } = Promise.withResolvers<void>();
  let looking = 0;
  prober = async () => {
    looking += 1;
    if (looking === 2) resolve();
    await bothLook;
    return { outcome: 'valid' };
  };
  await using _one = startWorker(ca);
  await using _other = startWorker(other);
  const id = await aChallenge();

  const responses = await Promise.all([ca, other].map((replica) => respondToChallenge(replica, applicant, id)));

  expect(responses).toMatchObject([{ state: 'valid' }, { state: 'valid' }]);
});

describe('an authorization that its account ends during the first try', () => {
  /** The response to its challenge. */
  async function endedDuring(ca: Ca, id: string, found: ProbeOutcome): Promise<unknown> {
    const { promise: looked, resolve: look } = Promise.withResolvers<void>();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    prober = async () => {
      look();
      await released;
      return found;
    };
    const { authorizationId } = await getChallenge(ca, applicant, id);
    const response = respondToChallenge(ca, applicant, id);
    await looked;
    await deactivateAuthorization(ca, applicant, authorizationId);
    release();
    return response;
  }

  test('is not validated', async () => {
    await using _ = startWorker(running.ca);
    const id = await aChallenge();

    await expect(endedDuring(running.ca, id, { outcome: 'valid' })).rejects.toThrow('is deactivated; order anew');

    expect(await stored(id)).toMatchObject({ state: 'pending' });
  });

  test('is not looked for any longer', async () => {
    const { ca } = running;
    const { promise: looked, resolve: look } = Promise.withResolvers<void>();
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    prober = async (_, signal) => {
      look();
      await once(signal, 'abort');
      stop();
      throw signal.reason;
    };
    await using _ = startWorker(ca);
    const id = await aChallenge();
    const { authorizationId } = await getChallenge(ca, applicant, id);
    const response = respondToChallenge(ca, applicant, id);
    await looked;
    await deactivateAuthorization(ca, applicant, authorizationId);

    await expect(response).rejects.toThrow('is deactivated; order anew');

    await stopped;
  });

  test('ORD-28: counts as one that failed, where it did', async () => {
    const ca = { ...running.ca, limits: { ...running.ca.limits, failures: { count: 1, perMs: 60 * MINUTE_MS } } };
    await using _ = startWorker(ca);
    const failed = { outcome: 'failed', type: 'connection', detail: 'Nobody is there.' } as const;

    await expect(endedDuring(ca, await aChallenge(), failed)).rejects.toThrow('is deactivated; order anew');

    const again = respondToChallenge(ca, applicant, await aChallenge());
    await expect(again).rejects.toMatchObject({ type: 'rateLimited' });
  });
});

test('a challenge that another of its authorization has made needless counts as none that failed', async () => {
  const ca = { ...running.ca, limits: { ...running.ca.limits, failures: { count: 1, perMs: 60 * MINUTE_MS } } };
  const { promise: met, resolve: meet } = Promise.withResolvers<void>();
  prober = async ({ type }) => {
    if (type === 'dns-01') return { outcome: 'valid' };
    await met;
    return { outcome: 'failed', type: 'connection', detail: 'Nobody is there.' };
  };
  await using _ = startWorker(ca);
  const id = await aChallenge();
  const { authorizationId } = await getChallenge(ca, applicant, id);
  const { challenges } = await getAuthorization(ca, applicant, authorizationId);

  const slow = respondToChallenge(ca, applicant, id);
  await respondToChallenge(ca, applicant, challenges.find(({ type }) => type === 'dns-01')?.id);
  meet();
  await slow;

  prober = async () => ({ outcome: 'valid' });
  const another = await newOrder(ca, applicant, { identifiers: [{ type: 'dns', value: '*.shop.corp.example' }] });
  const wildcard = await getAuthorization(ca, applicant, another.authorizationIds[0]);
  const response = respondToChallenge(ca, applicant, wildcard.challenges[0]?.id);
  expect(await response).toMatchObject({ state: 'valid' });
});

test('where the own worker has no room, any worker finds it', async () => {
  await using _ = startWorker({ ...running.ca, ownWorker: new OwnWorker() });
  using _full = running.ca.ownWorker.employ(() => undefined);
  const id = await aChallenge();

  await respondToChallenge(running.ca, applicant, id);

  await becomes(id, 'valid');
});

test('a first try holds its place until nothing of it is under way', async () => {
  const { ca } = running;
  const { promise: looked, resolve: look } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  prober = async () => {
    look();
    await released;
    return { outcome: 'valid' };
  };
  const worker = startWorker(ca);
  const id = await aChallenge();
  const response = respondToChallenge(ca, applicant, id);
  await looked;
  let hasEnded = false;
  const ended = Promise.resolve(worker[Symbol.asyncDispose]()).then(() => {
    hasEnded = true;
  });
  expect(ca.ownWorker.place()).toBeUndefined();
  await response;
  expect(hasEnded).toBe(false);
  release();
  await ended;
});

test('an error that nobody expected is tried again soon', async () => {
  const { ca } = running;
  prober = async () => {
    throw new Error('a bug');
  };
  await using _ = startWorker(ca);
  const id = await aChallenge();

  expect(await respondToChallenge(ca, applicant, id)).toMatchObject({ state: 'processing' });

  await eventually('it is given back', async () => (await stored(id)).lease_until === null);
  const inASecond = new Date(ca.clock.now().getTime() + 1_000);
  expect(await stored(id)).toMatchObject({ state: 'processing', due_at: inASecond, attempts: 1 });
});

test('where control is not proved nothing more is asked about CAA', async () => {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<Error>();
  const caa: CaaResolver = async (_, signal) => {
    await once(signal, 'abort');
    stop(signal.reason);
    throw signal.reason;
  };
  const ca = { ...running.ca, caa };
  prober = async () => ({ outcome: 'failed', type: 'connection', detail: 'Nobody is there.' });
  await using _ = startWorker(ca);

  await respondToChallenge(ca, applicant, await aChallenge());

  // Not by its deadline.
  expect((await stopped).message).toContain('Nobody waits');
});

test('CAA is asked for while control is being proved', async () => {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const ca = { ...running.ca, caa: (of: string) => noCaa(of).finally(ask) };
  prober = async () => {
    await asked;
    return { outcome: 'valid' };
  };
  await using _ = startWorker(ca);

  expect(await respondToChallenge(ca, applicant, await aChallenge())).toMatchObject({ state: 'valid' });
});

test('a worker that ends during a first try gives it back', async () => {
  const { ca } = running;
  const { promise: looked, resolve: look } = Promise.withResolvers<void>();
  prober = async (_, signal) => {
    look();
    await once(signal, 'abort');
    throw signal.reason;
  };
  const worker = startWorker(ca);
  const id = await aChallenge();
  const response = respondToChallenge(ca, applicant, id);
  await looked;
  await worker[Symbol.asyncDispose]();
  expect(await response).toMatchObject({ state: 'processing' });
  prober = async () => ({ outcome: 'valid' });

  expect(await stored(id)).toMatchObject({ state: 'processing', due_at: ca.clock.now(), lease_until: null });
  await using _ = startWorker(ca);
  await becomes(id, 'valid');
});
