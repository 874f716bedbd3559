// What time has ended, moved by the sweep: orders, authorizations and challenges, by thousands and beside others at work.
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { expireOpenWork } from '../../src/core/expiry.ts';
import { newUuid } from '../../src/core/ids.ts';
import type { Db } from '../../src/store/database.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { type TestCa, testCa } from '../support/ca.ts';
import { DAY_MS } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { type GivenAccount, givenOrder } from '../support/given-order.ts';
import { exampleRows, insertRows } from '../support/rows.ts';

const MINUTE_MS = 60_000;
const goOn = new AbortController().signal;

let given: TestCa;
let db: Db;
let account: GivenAccount;
beforeEach(async () => {
  given = await testCa();
  db = given.ca.database.db;
  const rows = exampleRows();
  await insertRows(db, rows, ['signing_certs', 'directories', 'acme_keys']);
  const [acmeKeyId, directoryId, signingCertId] = [rows.acme_keys.id, rows.directories.id, rows.signing_certs.id];
  account = { acmeKeyId, directoryId, signingCertId };
});
afterEach(() => given[Symbol.asyncDispose]());

const inFuture = (ms: number) => new Date(given.ca.clock.now().getTime() + ms);
const order = (state: 'pending' | 'ready' | 'valid' | 'invalid', expires_at: Date) =>
  givenOrder(given.ca, account, {
    state,
    expires_at,
    ...(state === 'valid' && { issued_cert_id: newUuid(expires_at) }),
  });

async function authorization(state: 'pending' | 'valid' | 'invalid', expires_at: Date): Promise<string> {
  const id = newUuid(given.ca.clock.now());
  const validated_at = state === 'valid' ? given.ca.clock.now() : null;
  const fixed = { type: 'dns', value: 'shop.corp.example', wildcard: false, auto: false } as const;
  const created_at = given.ca.clock.now();
  const row = { id, acme_key_id: account.acmeKeyId, created_at, expires_at, state, validated_at, ...fixed };
  await db.insertInto('authorizations').values(row).execute();
  return id;
}

async function challenge(authorization_id: string, state: 'pending' | 'processing'): Promise<string> {
  const id = newUuid(given.ca.clock.now());
  const response = { key_authorization: 'token.thumbprint', account_url: 'https://a', due_at: given.ca.clock.now() };
  const row = { id, authorization_id, type: 'http-01', state, token: 'token' } as const;
  await db
    .insertInto('challenges')
    .values({ ...row, ...(state === 'processing' && response) })
    .execute();
  return id;
}

const statesOf = async (table: 'orders' | 'authorizations' | 'challenges') =>
  new Map((await db.selectFrom(table).select(['id', 'state']).execute()).map(({ id, state }) => [id, state]));

test('ORD-26: open orders past their end become invalid and say why; others stay as they are', async () => {
  const [pending, ready] = [await order('pending', inFuture(MINUTE_MS)), await order('ready', inFuture(MINUTE_MS))];
  const [later, valid] = [await order('ready', inFuture(DAY_MS)), await order('valid', inFuture(MINUTE_MS))];
  await expireOpenWork(given.ca, goOn);
  expect((await statesOf('orders')).get(pending)).toBe('pending');
  given.ca.clock.advance(MINUTE_MS);
  await expireOpenWork(given.ca, goOn);
  expect(await statesOf('orders')).toEqual(
    new Map([
      [pending, 'invalid'],
      [ready, 'invalid'],
      [later, 'ready'],
      [valid, 'valid'],
    ]),
  );
  const row = await db.selectFrom('orders').select('error').where('id', '=', ready).executeTakeFirstOrThrow();
  expect(row.error).toEqual({
    type: 'unauthorized',
    detail: 'The order was not finalized before it expired on 2026-05-17T12:01:00Z; order anew.',
  });
  expect(given.logLines.join()).toContain('"what":"order_expired","count":2');
});

test('ORD-25: an order that somebody finalizes just now is passed over, and nobody waits', async () => {
  const [busy, idle] = [await order('ready', inFuture(0)), await order('ready', inFuture(0))];
  await db.transaction().execute(async (tx) => {
    await tx.selectFrom('orders').select('id').where('id', '=', busy).forUpdate().execute();
    await expireOpenWork(given.ca, goOn);
  });
  expect(await statesOf('orders')).toEqual(
    new Map([
      [busy, 'ready'],
      [idle, 'invalid'],
    ]),
  );
  await expireOpenWork(given.ca, goOn);
  expect((await statesOf('orders')).get(busy)).toBe('invalid');
});

test('AUT-2: authorizations past their end become expired, each once however often the sweep runs', async () => {
  const [pending, valid] = [await authorization('pending', inFuture(0)), await authorization('valid', inFuture(0))];
  const [failed, later] = [await authorization('invalid', inFuture(0)), await authorization('valid', inFuture(DAY_MS))];
  await expireOpenWork(given.ca, goOn);
  const expected = { [pending]: 'expired', [valid]: 'expired', [failed]: 'invalid', [later]: 'valid' };
  expect(Object.fromEntries(await statesOf('authorizations'))).toEqual(expected);
  given.ca.clock.advance(DAY_MS);
  await expireOpenWork(given.ca, goOn);
  expect(Object.fromEntries(await statesOf('authorizations'))).toEqual({ ...expected, [later]: 'expired' });
});

test('CHA-11: a challenge that is still looked for ends with its authorization; one that waits for its client stays', async () => {
  const [dead, failed, alive] = [
    await authorization('pending', inFuture(0)),
    await authorization('invalid', inFuture(DAY_MS)),
    await authorization('pending', inFuture(DAY_MS)),
  ];
  const [ended, late, open] = [
    await challenge(dead, 'processing'),
    await challenge(failed, 'processing'),
    await challenge(alive, 'processing'),
  ];
  const unasked = await challenge(await authorization('pending', inFuture(0)), 'pending');
  await expireOpenWork(given.ca, goOn);
  expect(Object.fromEntries(await statesOf('challenges'))).toEqual({
    [ended]: 'invalid',
    [late]: 'invalid',
    [open]: 'processing',
    [unasked]: 'pending',
  });
  const row = await db.selectFrom('challenges').selectAll().where('id', '=', ended).executeTakeFirstOrThrow();
  expect(row).toMatchObject({ due_at: null, lease_until: null, error: { type: 'unauthorized' } });
});

test('the worker does it by itself, and removes what was kept long enough', async () => {
  const [open, old] = [await order('ready', inFuture(31 * DAY_MS)), await order('valid', inFuture(-1))];
  given.ca.clock.advance(31 * DAY_MS);
  await using _ = startWorker(given.ca);
  await eventually('the open order is invalid', async () => (await statesOf('orders')).get(open) === 'invalid');
  await eventually('the old one is gone', async () => !(await statesOf('orders')).has(old));
});

test('thousands are moved in batches, and a stop between two of them loses nothing', async () => {
  await sql`
    insert into authorizations (id, acme_key_id, created_at, expires_at, state, type, value, wildcard, auto)
    select gen_random_uuid(), ${account.acmeKeyId}, ${inFuture(0)}, ${inFuture(0)}::timestamptz - n * interval '1 ms',
           'pending', 'dns', 'n' || n, false, false from generate_series(1, 2500) n`.execute(db);
  const expired = async () => [...(await statesOf('authorizations')).values()].filter((s) => s === 'expired').length;
  const stopping = new AbortController();
  const begun = expireOpenWork(given.ca, stopping.signal);
  while ((await expired()) === 0) await new Promise((resolve) => setImmediate(resolve));
  stopping.abort();
  await begun;
  expect(await expired()).toBeLessThan(2500);
  await expireOpenWork(given.ca, goOn);
  expect(await expired()).toBe(2500);
});
