// Writes of many clients that are one statement: what one of them has to wait for delays nobody else, and each hears of his
// own.
import { sql, type Transaction } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AcmeOrder } from '../../src/core/acme-orders.ts';
import type { Ca } from '../../src/core/ca.ts';
import { newUuid } from '../../src/core/ids.ts';
import { newOrder } from '../../src/core/new-order.ts';
import { revokeAcmeKey } from '../../src/core/revoke-acme-key.ts';
import { completeOrder } from '../../src/store/complete-order.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { findReservedOrder } from '../../src/store/reserved-orders.ts';
import type { Tables } from '../../src/store/tables.ts';
import { type TestCa, testCa } from '../support/ca.ts';
import { admin } from '../support/given.ts';
import { givenAcmeKey } from '../support/given-acme-key.ts';
import { type GivenApplicant, givenApplicant } from '../support/given-applicant.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { aRequest, finalize, givenReadyOrder, permissive } from '../support/given-ready-order.ts';
import { waitingQueries } from '../support/waiting.ts';

let running: TestCa;
let ca: Ca;
let patient: Database;
beforeAll(async () => {
  running = await testCa();
  // Whoever waits by himself waits for as long as this test takes.
  patient = openDatabase({ url: running.databaseUrl, lockTimeoutMs: 0 });
  ca = { ...running.ca, database: patient };
});
afterAll(async () => {
  await patient.close();
  await running[Symbol.asyncDispose]();
});

const order = (applicant: GivenApplicant): Promise<AcmeOrder> =>
  newOrder(ca, applicant, { identifiers: [{ type: 'dns', value: 'shop.corp.example' }] });

/** More than may be under way together. */
const SEVERAL = 3;

/**
 * What waits for the lock, each by itself, as long as others are done: with those that came at the same time, and with
 * those that come while they wait.
 */
async function whileHeld<Result>(
  lock: (tx: Transaction<Tables>) => Promise<unknown>,
  work: { readonly held: () => Promise<Result>; readonly free: () => Promise<Result> },
): Promise<Result[]> {
  const { database } = ca;
  const held: Promise<Result>[] = [];
  await database.inTransaction(async (tx) => {
    await lock(tx);
    for (let number = 1; number <= SEVERAL; number++) {
      const one = work.held();
      // Heard below; before that, what else fails is of more interest.
      one.catch(() => undefined);
      held.push(one);
      await work.free();
      await waitingQueries(database.db, number);
    }
    await work.free();
  });
  return Promise.all(held);
}

test('an account that somebody holds delays its own orders alone', async () => {
  const [held, free] = [await givenApplicant(ca), await givenApplicant(ca)];
  const made = await whileHeld(
    (tx) => sql`select from acme_keys where id = ${held.account.id} for update`.execute(tx),
    { held: () => order(held), free: () => order(free) },
  );
  expect(made.map(({ state }) => state)).toEqual(Array(SEVERAL).fill('pending'));
});

test('a directory that somebody holds delays its own registrations alone', async () => {
  const [held, free] = [await givenDirectory(ca), await givenDirectory(ca)];
  const made = await whileHeld((tx) => sql`select from directories where id = ${held.id} for update`.execute(tx), {
    held: () => givenAcmeKey(ca, held),
    free: () => givenAcmeKey(ca, free),
  });
  expect(made.map(({ directoryId }) => directoryId)).toEqual(Array(SEVERAL).fill(held.id));
});

const held = (orders: readonly AcmeOrder[]) => (tx: Transaction<Tables>) =>
  sql`select from orders where id = any(${orders.map(({ id }) => id)}::uuid[]) for update`.execute(tx);

async function givenOrders() {
  const applicant = await givenApplicant(ca, permissive);
  const orders = () => Promise.all(Array.from({ length: SEVERAL + 1 }, () => givenReadyOrder(ca, applicant)));
  const finalized = async (ordered: AcmeOrder | undefined, from: Ca = ca) =>
    finalize(from, applicant, ordered ?? expect.fail('no order is left'), await aRequest());
  const [theirs, others] = [await orders(), await orders()];
  return { theirs, others, finalized, free: () => finalized(others.pop()) };
}

test('orders that somebody holds delay their own reservation alone', async () => {
  const { theirs, finalized, free } = await givenOrders();
  const done = await whileHeld(held(theirs), { held: () => finalized(theirs.pop()), free });
  expect(done.map(({ state }) => state)).toEqual(Array(SEVERAL).fill('valid'));
});

test('orders that somebody holds while they are signed delay their own completion alone', async () => {
  const { theirs, finalized, free } = await givenOrders();
  const signing = theirs.map(() => Promise.withResolvers<void>());
  const mayGoOn = signing.map(() => Promise.withResolvers<void>());
  const finalizing = theirs.map((ordered, index) =>
    finalized(ordered, signedAfter(signing[index]?.resolve, mayGoOn[index]?.promise)),
  );
  await Promise.all(signing.map(({ promise }) => promise));
  const goOn = () => {
    mayGoOn.pop()?.resolve();
    return finalizing.pop() ?? expect.fail('no order is left');
  };
  const done = await whileHeld(held(theirs), { held: goOn, free });
  mayGoOn.pop()?.resolve();
  expect(done.map(({ state }) => state)).toEqual(Array(SEVERAL).fill('valid'));
  expect(await finalizing.pop()).toMatchObject({ state: 'valid' });
});

/** The CA, whose signatures come when they may. */
function signedAfter(begun: (() => void) | undefined, mayGoOn: Promise<void> | undefined): Ca {
  const { keys } = ca;
  const signer = async (ref: string) => {
    const real = await keys.signer(ref);
    const sign = async (tbs: Buffer) => {
      begun?.();
      await mayGoOn;
      return real.sign(tbs);
    };
    return { ...real, sign };
  };
  return { ...ca, keys: { ...keys, signer } };
}

test('of those that go together each hears of his own', async () => {
  const applicants = await Promise.all(Array.from({ length: SEVERAL }, () => givenApplicant(ca)));
  await revokeAcmeKey(ca, admin, applicants[1]?.account.id ?? expect.fail('there is none'));
  const outcomes = await Promise.allSettled(applicants.map(order));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(outcomes[1]).toMatchObject({ reason: { type: 'unauthorized' } });
  const { rows } = await sql<{ statements: number }>`
    select count(distinct xmin::text)::int as statements from orders
     where acme_key_id = any(${applicants.map(({ account }) => account.id)}::uuid[])`.execute(patient.db);
  expect(rows).toEqual([{ statements: 1 }]);
});

test('of two completions of one order, that of what is reserved no more leaves nothing', async () => {
  const applicant = await givenApplicant(ca, permissive);
  const { id } = await givenReadyOrder(ca, applicant);
  const away = { ...ca.keys, signer: async (ref: string) => ({ ...(await ca.keys.signer(ref)), sign: isAway }) };
  await finalize({ ...ca, keys: away }, applicant, { id }, await aRequest());
  const reserved = (await findReservedOrder(patient.db, id)) ?? expect.fail('it is not reserved');
  const completion = (certId: string, serial: Buffer, name: string) => {
    const now = ca.clock.now();
    const cert = { id: certId, order_id: id, serial, signing_cert_id: reserved.signing_cert_id };
    const rest = { der: Buffer.from(name), not_before: now, not_after: now, subjects: [name] };
    const record = { id: newUuid(now), actorKind: 'acme_key', actor: 'shop', action: 'issue' } as const;
    return completeOrder(patient.db, { cert: { ...cert, ...rest }, record: { ...record, objectKind: 'issued_cert' } });
  };
  const completed = await Promise.all([
    completion(newUuid(ca.clock.now()), Buffer.alloc(16, 1), 'stale.corp.example'),
    completion(reserved.issued_cert_id, reserved.serial, 'shop.corp.example'),
  ]);
  expect(completed).toEqual([false, true]);
  const { rows } = await sql<{ name: string; subjects: string[] }>`
    select name, subjects from issued_cert_names join issued_certs on issued_certs.id = issued_cert_id
     where order_id = ${id}`.execute(patient.db);
  expect(rows).toEqual([{ name: 'shop.corp.example', subjects: ['shop.corp.example'] }]);
});

const isAway = () => Promise.reject(new Error('the key store is away'));
