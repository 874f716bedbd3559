// The limits of orders, accounts and failures on a real database: token buckets that fill as the clock goes on.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AcmeError } from '../../src/core/acme-error.ts';
import type { Ca, Limits } from '../../src/core/ca.ts';
import { noteFailure, requireFailuresLeft, spendAccounts, spendOrders } from '../../src/core/rate-limits.ts';
import { removeFullBuckets } from '../../src/store/rate-limits.ts';
import { type TestCa, testCa } from '../support/ca.ts';

const ACCOUNT = '019e0000-0000-7000-8000-000000000001';
const OTHER = '019e0000-0000-7000-8000-000000000002';
const HOUR_MS = 3_600_000;

let given: TestCa;
beforeEach(async () => {
  given = await testCa();
});
afterEach(() => given[Symbol.asyncDispose]());

const withLimits = (limits: Partial<Limits>): Ca & Pick<TestCa['ca'], 'clock'> => ({
  ...given.ca,
  limits: { ...given.ca.limits, ...limits },
});
const perHour = (count: number) => ({ count, perMs: HOUR_MS });

/** Undefined when it went well. */
async function refusalOf(work: Promise<void>): Promise<AcmeError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof AcmeError) return error;
    throw error;
  }
}
const times = <T>(count: number, work: () => Promise<T>) => Promise.all(Array.from({ length: count }, work));

test('ORD-28: an account makes as many orders as it may at once, then one as often as the rate says', async () => {
  const ca = withLimits({ orders: perHour(100) });
  for (let order = 0; order < 100; order++) await spendOrders(ca, ACCOUNT);
  for (let turn = 0; turn < 3; turn++) {
    expect(await refusalOf(spendOrders(ca, ACCOUNT))).toMatchObject({ type: 'rateLimited', status: 429 });
    ca.clock.advance(35_999);
    expect(await refusalOf(spendOrders(ca, ACCOUNT))).toMatchObject({ headers: { 'Retry-After': '1' } });
    ca.clock.advance(1);
    await spendOrders(ca, ACCOUNT);
  }
  await spendOrders(ca, OTHER);
});

test('ORD-28: of orders that come at once exactly as many pass as there is room for', async () => {
  const ca = withLimits({ orders: perHour(7) });
  const outcomes = await times(20, () => refusalOf(spendOrders(ca, ACCOUNT)));
  expect(outcomes.filter((refused) => refused === undefined)).toHaveLength(7);
  ca.clock.advance(HOUR_MS);
  const later = await times(20, () => refusalOf(spendOrders(ca, ACCOUNT)));
  expect(later.filter((refused) => refused === undefined)).toHaveLength(7);
});

test('ERR-9: the refusal names the limit, who is limited and when it goes on; Retry-After is a whole number', async () => {
  const ca = withLimits({ orders: perHour(100), accounts: perHour(1) });
  await times(100, () => spendOrders(ca, ACCOUNT));
  expect(await refusalOf(spendOrders(ca, ACCOUNT))).toMatchObject({
    message: 'An account may make 100 orders an hour, and this one has made them. It goes on at 2026-05-17T12:00:36Z.',
    headers: { 'Retry-After': '36' },
  });
  await spendAccounts(ca, '192.0.2.7');
  // Longer than a minute is more than nginx waits at all.
  expect(await refusalOf(spendAccounts(ca, '192.0.2.7'))).toMatchObject({
    message: expect.stringMatching(/192\.0\.2\.7 .* It goes on at 2026-05-17T13:00:00Z\.$/),
    headers: { 'Retry-After': '60' },
  });
  expect(given.logLines.join()).toContain('limit reached');
});

test('SEC-30: accounts are counted by address, IPv6 by /64, also when an address is written in another way', async () => {
  const ca = withLimits({ accounts: perHour(1) });
  await spendAccounts(ca, '192.0.2.7');
  await spendAccounts(ca, '192.0.2.8');
  expect(await refusalOf(spendAccounts(ca, '::ffff:192.0.2.7'))).toBeDefined();
  await spendAccounts(ca, '2001:db8:0:7::1');
  await spendAccounts(ca, '2001:db8:0:8::1');
  expect(await refusalOf(spendAccounts(ca, '2001:db8::7:ffff:0:0:2'))).toMatchObject({
    message: expect.stringContaining('2001:db8:0:7::/64'),
  });
});

test('ORD-28: failures are counted by account and name, and stop the next validation, not the one that fails', async () => {
  const ca = withLimits({ failures: perHour(3) });
  for (let failure = 0; failure < 3; failure++) {
    await requireFailuresLeft(ca, ACCOUNT, 'shop.corp.example');
    await noteFailure(ca, ACCOUNT, 'shop.corp.example');
  }
  const refused = await refusalOf(requireFailuresLeft(ca, ACCOUNT, 'shop.corp.example'));
  expect(refused).toMatchObject({
    type: 'rateLimited',
    message: expect.stringContaining('those of shop.corp.example have. It goes on at 2026-05-17T12:20:00Z.'),
  });
  await requireFailuresLeft(ca, ACCOUNT, 'www.corp.example');
  await requireFailuresLeft(ca, OTHER, 'shop.corp.example');
  // What was under way when the last was counted does not make the wait longer.
  await times(10, () => noteFailure(ca, ACCOUNT, 'shop.corp.example'));
  ca.clock.advance(HOUR_MS / 3);
  await requireFailuresLeft(ca, ACCOUNT, 'shop.corp.example');
});

test('a limit that is off counts nothing', async () => {
  await times(20, () => spendOrders(given.ca, ACCOUNT));
  await noteFailure(given.ca, ACCOUNT, 'shop.corp.example');
  expect(await given.ca.database.db.selectFrom('rate_limits').select('kind').execute()).toEqual([]);
});

test('a rate that was changed begins anew', async () => {
  await spendOrders(withLimits({ orders: perHour(1) }), ACCOUNT);
  const ca = withLimits({ orders: { count: 1, perMs: 1_000 } });
  await spendOrders(ca, ACCOUNT);
  expect(await refusalOf(spendOrders(ca, ACCOUNT))).toBeDefined();
});

test('a rate that does not divide evenly still gives all of its tokens', async () => {
  const ca = withLimits({ orders: { count: 7, perMs: 1_000 } });
  for (let order = 0; order < 7; order++) await spendOrders(ca, ACCOUNT);
  expect(await refusalOf(spendOrders(ca, ACCOUNT))).toBeDefined();
});

test('full buckets are removed, by parts; the others stay as they are', async () => {
  const ca = withLimits({ orders: perHour(2) });
  const accounts = Array.from({ length: 5 }, (_, n) => `019e0000-0000-7000-8000-00000000000${n}`);
  for (const account of accounts) await spendOrders(ca, account);
  ca.clock.advance(HOUR_MS / 4);
  await spendOrders(ca, accounts[2] ?? '');
  ca.clock.advance(HOUR_MS / 4);
  const at = { now: ca.clock.now(), limit: 2 };
  const { db } = ca.database;
  const parts = [];
  let next: { kind: string; subject: string } | undefined = { kind: '', subject: '' };
  while (next !== undefined) {
    const part: Awaited<ReturnType<typeof removeFullBuckets>> = await removeFullBuckets(db, next, at);
    parts.push(part.changed);
    next = part.next;
  }
  expect(parts).toEqual([2, 1, 1]);
  expect(await db.selectFrom('rate_limits').select('subject').execute()).toEqual([{ subject: accounts[2] }]);
});
