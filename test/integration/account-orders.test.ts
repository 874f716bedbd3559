// The list of an account's orders in the core: what is in it, its pages, and what it costs on many orders.
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { listAccountOrders } from '../../src/core/account-orders.ts';
import type { AcmeAccount } from '../../src/core/acme-requests.ts';
import { newUuid } from '../../src/core/ids.ts';
import { statesOf } from '../../src/lifecycles/lifecycle.ts';
import { orderLifecycle } from '../../src/lifecycles/order.ts';
import { listAccountOrderIds } from '../../src/store/account-orders.ts';
import { testCa } from '../support/ca.ts';
import { givenClient } from '../support/given-client.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenOpenWork } from '../support/given-open-work.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';
import { openPlanner, planModes } from '../support/plans.ts';

const PAGE = 200;

let world: Awaited<ReturnType<typeof testCa>>;
let issuer: { readonly id: string };
let account: AcmeAccount;
beforeAll(async () => {
  world = await testCa();
  issuer = await givenIntermediate(world.ca);
});
beforeEach(async () => {
  account = await givenClient(world.ca, await givenDirectory(world.ca, { issuer, registration_mode: 'open' }));
});
afterAll(() => world[Symbol.asyncDispose]());

/** Orders a millisecond apart, all in one state. */
async function orders(count: number, state: 'ready' | 'invalid', owner = account): Promise<readonly string[]> {
  const { ca } = world;
  const ids = Array.from({ length: count }, () => {
    ca.clock.advance(1);
    return newUuid(ca.clock.now());
  });
  await sql`
    insert into orders (id, acme_key_id, directory_id, created_at, expires_at, state, profile, identifiers)
    select id, ${owner.id}, ${owner.directory_id}, ${ca.clock.now()},
           ${ca.clock.now()}::timestamptz + interval '1 day', ${state}, 'server', '[]'
      from unnest(${ids}::uuid[]) as id`.execute(ca.database.db);
  return ids;
}

async function pages(): Promise<readonly (readonly string[])[]> {
  const all: (readonly string[])[] = [];
  let cursor: string | undefined;
  do {
    const { orderIds, nextCursor } = await listAccountOrders(world.ca, account, cursor);
    all.push(orderIds);
    cursor = nextCursor;
  } while (cursor !== undefined);
  return all;
}

test('ORDL-1: an order in each state but invalid is in it, and one that is open past its end is not', async () => {
  const { ca } = world;
  const owner = { acme_key_id: account.id, directory_id: account.directory_id };
  const begun = { signingCertId: issuer.id, now: ca.clock.now() };
  const { invalid, ...shown } = await givenOpenWork(ca.database.db, owner, begun);
  expect(Object.keys(shown).sort()).toEqual(
    statesOf(orderLifecycle)
      .filter((state) => state !== 'invalid')
      .sort(),
  );
  const listed = (await listAccountOrders(ca, account)).orderIds;
  expect([...listed].sort()).toEqual(Object.values(shown).sort());
  expect(listed).not.toContain(invalid);
  ca.clock.advance(3_600_000);
  expect([...(await listAccountOrders(ca, account)).orderIds].sort()).toEqual([shown.processing, shown.valid].sort());
});

test('ORDL-1: an account without orders has an empty list', async () => {
  expect(await listAccountOrders(world.ca, account)).toEqual({ orderIds: [], nextCursor: undefined });
});

test('ACC-13: the orders of another account are not in it', async () => {
  const other = await givenClient(world.ca, { id: account.directory_id });
  await orders(3, 'ready', other);
  expect(await pages()).toEqual([[]]);
});

test.each([PAGE, PAGE + 1, 2 * PAGE + 50])(
  'ORDL-2: %i orders come newest first, each once, and the last page has no next',
  async (count) => {
    const ids = await orders(count, 'ready');
    await orders(50, 'invalid');
    const read = await pages();
    expect(read.map(({ length }) => length)).toEqual(
      Array.from({ length: Math.ceil(count / PAGE) }, (_, page) => Math.min(PAGE, count - page * PAGE)),
    );
    expect(read.flat()).toEqual(ids.toReversed());
  },
);

test('ORDL-2: orders that come meanwhile, and the loss of the one that a page ended with, move nothing', async () => {
  const ids = await orders(PAGE + 10, 'ready');
  const first = await listAccountOrders(world.ca, account);
  await orders(5, 'ready');
  await sql`delete from orders where id = ${first.orderIds.at(-1)}`.execute(world.ca.database.db);
  const second = await listAccountOrders(world.ca, account, first.nextCursor);
  expect([...first.orderIds, ...second.orderIds]).toEqual(ids.toReversed());
});

test.each(['', 'x', 'ordr_', 'acmk_01h455vb4pex5vsknk084sn02q'])('ORDL-2: %j is no cursor', async (cursor) => {
  await expect(listAccountOrders(world.ca, account, cursor)).rejects.toMatchObject({ type: 'malformed', status: 400 });
});

test('ORDL-2: a page reads as many orders as it shows, however many others there are', async () => {
  const { ca, databaseUrl } = world;
  await orders(300, 'ready');
  await sql`
    insert into orders (id, acme_key_id, directory_id, created_at, expires_at, state, profile, identifiers)
    select gen_random_uuid(), ${account.id}, ${account.directory_id}, now(), now(), 'invalid', 'server', '[]'
      from generate_series(1, 20000)`.execute(ca.database.db);
  await orders(300, 'ready');
  await sql`analyze orders`.execute(ca.database.db);
  await using planner = openPlanner(ca.database, databaseUrl);
  const [, after] = (await listAccountOrders(ca, account)).orderIds;
  for (const mode of planModes)
    for (const from of [undefined, after]) {
      const wanted = { acmeKeyId: account.id, after: from, limit: PAGE };
      const [plan] = await planner.plansOf(mode, (db) => listAccountOrderIds(db, wanted, ca.clock.now()));
      expect(plan?.rowsRead, `${mode} ${plan?.sql}`).toBeLessThanOrEqual(PAGE + 10);
      expect(new Set(plan?.indexes)).toEqual(new Set(['orders_list_acme_key_state_idx']));
    }
});
