// Crashes in the middle of finalize: of the server, of Postgres, and two servers at once. No certificate is lost or doubled.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { AcmeOrder } from '../../src/core/acme-orders.ts';
import type { Applicant } from '../../src/core/applicant.ts';
import type { Ca } from '../../src/core/ca.ts';
import { ensureWrapKey } from '../../src/core/secret-box.ts';
import { openFileKeyStore } from '../../src/keys/file-key-store.ts';
import { usualPlaces } from '../../src/postgres/binaries.ts';
import { startPostgres } from '../../src/postgres/cluster.ts';
import { openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { testCa } from '../support/ca.ts';
import { testClock } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { givenApplicant } from '../support/given-applicant.ts';
import { aRequest, dns, finalize, givenReadyOrder, permissive } from '../support/given-ready-order.ts';

const RUN = join(import.meta.dirname, '..', 'support', 'run-finalize.ts');
const HALF_A_MINUTE_MS = 30_000;
const DEADLINE_MS = 60_000;
const ORDERS = 200;
const places = await usualPlaces(process.env.PATH ?? '');

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acmery-crash-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

type Tested = Ca & { readonly clock: ReturnType<typeof testClock> };
type Order = AcmeOrder & { readonly name: string };

const nameOf = (index: number): string => `shop-${index}.corp.example`;

async function readyOrders(ca: Ca, applicant: Applicant): Promise<readonly Order[]> {
  const names = Array.from({ length: ORDERS }, (_, index) => nameOf(index));
  return Promise.all(
    names.map(async (name) => ({ ...(await givenReadyOrder(ca, applicant, { identifiers: [dns(name)] })), name })),
  );
}

/** By state, how many orders. */
async function states(ca: Ca): Promise<Readonly<Record<string, number>>> {
  const rows = await ca.database.db.selectFrom('orders').select('state').execute();
  return Object.fromEntries(
    Object.entries(Object.groupBy(rows, ({ state }) => state)).map(([state, list]) => [state, list?.length ?? 0]),
  );
}

/** What was stuck is completed, what was not begun can be finalized, and each order has one certificate then. */
async function expectNothingLost(ca: Tested, applicant: Applicant, orders: readonly Order[]): Promise<void> {
  ca.clock.advance(HALF_A_MINUTE_MS);
  await using _ = startWorker(ca);
  await eventually('nothing is stuck', async () => ((await states(ca)).processing ?? 0) === 0, DEADLINE_MS);
  const { db } = ca.database;
  const rows = await db.selectFrom('orders').select(['id', 'state']).execute();
  const open = new Set(rows.filter(({ state }) => state === 'ready').map(({ id }) => id));
  for (const order of orders.filter(({ id }) => open.has(id)))
    await finalize(ca, applicant, order, await aRequest({ names: [dns(order.name)] }));
  expect(await states(ca)).toEqual({ valid: ORDERS });
  const certs = await db.selectFrom('issued_certs').select(['id', 'order_id', 'serial', 'subjects', 'der']).execute();
  const valid = await db.selectFrom('orders').select(['id', 'issued_cert_id']).execute();
  expect(certs.map(({ order_id, id }) => `${order_id} ${id}`).sort()).toEqual(
    valid.map(({ id, issued_cert_id }) => `${id} ${issued_cert_id}`).sort(),
  );
  expect(new Set(certs.map(({ serial }) => serial.toString('hex'))).size).toBe(ORDERS);
  const named = new Map(orders.map(({ id, name }) => [id, name]));
  for (const { order_id, subjects, serial, der } of certs) {
    expect(subjects).toEqual([named.get(order_id)]);
    expect(parseCertificate(der).serial).toEqual(serial);
  }
  const records = await db.selectFrom('audit').select('object_id').where('action', '=', 'issue').execute();
  expect(records.map(({ object_id }) => object_id).sort()).toEqual(certs.map(({ id }) => id).sort());
}

type Server = { readonly child: ChildProcess; readonly answered: Promise<ReadonlyMap<string, string>> };

/** A process that finalizes all these orders; `reached` hears how many it has answered. */
function serve(
  url: string,
  ca: Ca,
  applicant: Applicant,
  orders: readonly Order[],
  reached = (_: number) => {},
): Server {
  const { directory, account } = applicant;
  const now = ca.clock.now().toISOString();
  const child = spawn(process.execPath, [RUN, url, join(folder, 'keys'), now, directory.slug, account.id], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin?.end(orders.map(({ id, name }) => `${id} ${name}`).join('\n'));
  const read = async () => {
    const answers = new Map<string, string>();
    if (child.stdout === null) return answers;
    for await (const line of createInterface(child.stdout)) {
      const [id = '', answer = ''] = line.split(' ');
      answers.set(id, answer);
      reached(answers.size);
    }
    return answers;
  };
  return { child, answered: read() };
}

test(
  'kill -9 of the server in the middle of 200 finalizes loses no certificate and doubles none',
  async () => {
    await using given = await testCa();
    const ca = { ...given.ca, keys: await openFileKeyStore(join(folder, 'keys')) };
    const applicant = await givenApplicant(ca, permissive);
    const orders = await readyOrders(ca, applicant);
    const { promise: midway, resolve } = Promise.withResolvers<void>();
    const server = serve(given.databaseUrl, ca, applicant, orders, (count) => {
      if (count === 60) resolve();
    });
    await midway;
    server.child.kill('SIGKILL');
    await once(server.child, 'close');
    const answered = await server.answered;
    expect(answered.size).toBeLessThan(ORDERS);
    // What a client was told is so.
    const rows = await ca.database.db.selectFrom('issued_certs').select('order_id').execute();
    const stored = new Set(rows.map(({ order_id }) => order_id));
    expect([...answered].filter(([id, answer]) => answer !== 'valid' || !stored.has(id))).toEqual([]);
    await expectNothingLost(ca, applicant, orders);
  },
  DEADLINE_MS,
);

test(
  'two servers on one database that finalize the same 200 orders give one certificate each',
  async () => {
    await using given = await testCa();
    const ca = { ...given.ca, keys: await openFileKeyStore(join(folder, 'keys')) };
    const applicant = await givenApplicant(ca, permissive);
    const orders = await readyOrders(ca, applicant);
    const servers = [orders, orders.toReversed()].map((list) => serve(given.databaseUrl, ca, applicant, list));
    const [one, other] = await Promise.all(servers.map(({ answered }) => answered));
    for (const { id } of orders) {
      // Each has a key of its own, so one of them comes too late.
      expect([one?.get(id), other?.get(id)].sort()).toEqual(['orderNotReady', 'valid']);
    }
    await expectNothingLost(ca, applicant, orders);
  },
  DEADLINE_MS,
);

test(
  'kill -9 of Postgres in the middle of 200 finalizes loses no certificate and doubles none',
  async ({ skip }) => {
    if (places.folders.length === 0 && places.embedded === undefined) skip('there is no Postgres that it may kill');
    await using scope = new AsyncDisposableStack();
    const notices: string[] = [];
    const dataDir = join(folder, 'data');
    const postgres = await startPostgres({ dataDir, places, onNotice: ({ kind }) => notices.push(kind) });
    scope.use(postgres);
    const database = scope.use(openDatabase({ url: postgres.url }));
    await migrate(database.db);
    const base = scope.use(await testCa());
    const ca: Tested = { ...base.ca, database, keys: await openFileKeyStore(join(folder, 'keys')), clock: testClock() };
    await ensureWrapKey(ca);
    const applicant = await givenApplicant(ca, permissive);
    const orders = await readyOrders(ca, applicant);

    const pid = Number.parseInt(await readFile(join(dataDir, 'postgres/cluster/postmaster.pid'), 'utf8'), 10);
    let done = 0;
    const told = new Set<string>();
    const rest = orders.values();
    const work = async (): Promise<void> => {
      for (const order of rest) {
        const csr = await aRequest({ names: [dns(order.name)] });
        const answer = await finalize(ca, applicant, order, csr).catch(() => undefined);
        if (answer?.state === 'valid') told.add(order.id);
        if (++done === 60) process.kill(pid, 'SIGKILL');
      }
    };
    await Promise.all(Array.from({ length: 20 }, work));
    await eventually('Postgres runs again', () => notices.at(-1) === 'restarted', DEADLINE_MS);
    await eventually(
      'it answers',
      () =>
        database.ping().then(
          () => true,
          () => false,
        ),
      DEADLINE_MS,
    );
    const rows = await database.db.selectFrom('issued_certs').select('order_id').execute();
    const stored = new Set(rows.map(({ order_id }) => order_id));
    expect(told.size).toBeLessThan(ORDERS);
    expect([...told].filter((id) => !stored.has(id))).toEqual([]);
    await expectNothingLost(ca, applicant, orders);
  },
  DEADLINE_MS,
);
