// Responses to challenges in a process that has a worker: he is given what they begin, and gives back what he cannot do.
import { sql } from 'kysely';
import { beforeEach, expect, test } from 'vitest';
import { getAuthorization } from '../../src/core/authorizations.ts';
import { respondToChallenge } from '../../src/core/challenges.ts';
import { newOrder } from '../../src/core/new-order.ts';
import { OwnWorker } from '../../src/core/own-worker.ts';
import type { ChallengeProber } from '../../src/core/ports.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { type TestCa, testCa } from '../support/ca.ts';
import { eventually } from '../support/eventually.ts';
import { type GivenApplicant, givenApplicant } from '../support/given-applicant.ts';
import { waitingQueries } from '../support/waiting.ts';

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

test('what a response begins is under the lease of the own worker at once, and no other is told', async () => {
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

  expect(await respondToChallenge(ca, applicant, await aChallenge())).toMatchObject({
    state: 'valid',
    validatedAt: ca.clock.now(),
    retryAfterSeconds: undefined,
  });

  prober = async () => ({ outcome: 'failed', type: 'connection', detail: 'Nobody is there.' });
  const id = await aChallenge('other.corp.example');
  expect(await respondToChallenge(ca, applicant, id)).toMatchObject({ state: 'processing', retryAfterSeconds: 1 });
  const [failure] = await failuresOf(id);
  expect(failure).toMatchObject({ type: 'connection' });
});

test('where the own worker has no room, any worker finds it', async () => {
  await using _ = startWorker({ ...running.ca, ownWorker: new OwnWorker() });
  using _full = running.ca.ownWorker.employ(() => undefined);
  const id = await aChallenge();

  await respondToChallenge(running.ca, applicant, id);

  await becomes(id, 'valid');
});

test('a response that begins nothing gives its place back', async () => {
  const worker = startWorker(running.ca);
  const id = await aChallenge();
  await respondToChallenge(running.ca, applicant, id);
  await becomes(id, 'valid');

  await respondToChallenge(running.ca, applicant, id);
  await expect(respondToChallenge(running.ca, applicant, undefined)).rejects.toThrow('no challenge');

  // Waits for every place that is taken.
  await worker[Symbol.asyncDispose]();
  expect(running.ca.ownWorker.place()).toBeUndefined();
});

test('a worker that ends while a response is on its way gives back what it begins', async () => {
  const { ca } = running;
  const worker = startWorker(ca);
  const id = await aChallenge();
  let ended: Promise<void> | undefined;
  let response: Promise<unknown> | undefined;
  await ca.database.inTransaction(async (tx) => {
    await sql`select from authorizations for update`.execute(tx);
    response = respondToChallenge(ca, applicant, id);
    await waitingQueries(db(), 1);
    ended = Promise.resolve(worker[Symbol.asyncDispose]());
  });
  await Promise.all([ended, response]);

  expect(await stored(id)).toMatchObject({ state: 'processing', due_at: ca.clock.now(), lease_until: null });
  await using _ = startWorker(ca);
  await becomes(id, 'valid');
});
