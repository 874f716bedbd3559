// No list scans: every list of /v1 with every filter, order, direction and page, on a million issued certs, as the store asks for it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { acmeKeyLifecycle } from '../../src/lifecycles/acme-key.ts';
import { statesOf } from '../../src/lifecycles/lifecycle.ts';
import { orderLifecycle } from '../../src/lifecycles/order.ts';
import { listAcmeKeyRows } from '../../src/store/acme-keys.ts';
import { listLiveCertsAcross, listOrdersAcross } from '../../src/store/across.ts';
import { listAuditRows } from '../../src/store/audit-events.ts';
import { listCaTreeRows } from '../../src/store/ca-tree.ts';
import type { Db } from '../../src/store/database.ts';
import { listDirectoryRows } from '../../src/store/directories.ts';
import { countInDirectories } from '../../src/store/directory-counts.ts';
import { listExternalBindingRows } from '../../src/store/external-bindings.ts';
import { countLiveLeaves, type IssuedCertFilter, listIssuedCertRows } from '../../src/store/issued-certs.ts';
import { listOrderRows } from '../../src/store/orders.ts';
import { findCertIdsOfKey } from '../../src/store/shown-certs.ts';
import { listSigningCertRows } from '../../src/store/signing-certs.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { type Bounds, faultOf, LIMIT, type ListPage, ofPage, pagesOf } from '../support/list-bounds.ts';
import { counts, idOf, notable, seedMillionCerts } from '../support/million-certs.ts';
import { openPlanner, type Planner, planModes } from '../support/plans.ts';
import { now } from '../support/rows.ts';

const SEEDING_MS = 600_000;

let database: TestDatabase;
let planner: Planner;
beforeAll(async () => {
  database = await testDatabase({ statementTimeoutMs: 0, transactionIdleTimeoutMs: 0 });
  await seedMillionCerts(database.db.db, now, { derBytes: 64 });
  planner = openPlanner(database.db, database.url);
}, SEEDING_MS);
afterAll(async () => {
  await planner[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

type List = (db: Db, page: ListPage) => Promise<unknown>;

async function expectBounded(pages: readonly ListPage[], list: List, bounds: Bounds = ofPage): Promise<void> {
  const faults: unknown[] = [];
  for (const mode of planModes)
    for (const page of pages)
      for (const plan of await planner.plansOf(mode, (db) => list(db, page))) {
        const fault = faultOf(plan, bounds);
        if (fault !== undefined) faults.push({ fault, mode, page, ...plan });
      }
  expect(faults).toEqual([]);
}

describe('issued certs', () => {
  const { largeDirectory, smallDirectory, earlierCa, laterCa, rareCa, busyKey, revokedKey, quietKey, smallKey } =
    notable;
  const ids: Readonly<Record<string, IssuedCertFilter>> = {
    'a large directory': { directoryId: idOf(largeDirectory) },
    'a small directory': { directoryId: idOf(smallDirectory) },
    'no directory': { directoryId: idOf(999_999) },
    'a busy key': { acmeKeyId: idOf(busyKey) },
    'a key whose certs are revoked': { acmeKeyId: idOf(revokedKey) },
    'a key whose certs are old': { acmeKeyId: idOf(quietKey) },
    'a small key': { acmeKeyId: idOf(smallKey) },
    'the earlier CA': { signingCertId: idOf(earlierCa) },
    'a rare CA': { signingCertId: idOf(rareCa) },
    'a large directory and its earlier CA': { directoryId: idOf(largeDirectory), signingCertId: idOf(earlierCa) },
    'a large directory and its later CA': { directoryId: idOf(largeDirectory), signingCertId: idOf(laterCa) },
    'a large directory and a rare CA': { directoryId: idOf(largeDirectory), signingCertId: idOf(rareCa) },
    'a large directory and a CA not of it': { directoryId: idOf(largeDirectory), signingCertId: idOf(4) },
    'a busy key and its earlier CA': { acmeKeyId: idOf(busyKey), signingCertId: idOf(earlierCa) },
    'a busy key and its later CA': { acmeKeyId: idOf(busyKey), signingCertId: idOf(laterCa) },
    'a busy key and a CA not of it': { acmeKeyId: idOf(busyKey), signingCertId: idOf(4) },
    'a busy key and its directory': { acmeKeyId: idOf(busyKey), directoryId: idOf(largeDirectory) },
    'a busy key and another directory': { acmeKeyId: idOf(busyKey), directoryId: idOf(smallDirectory) },
    'all three ids': {
      acmeKeyId: idOf(busyKey),
      directoryId: idOf(largeDirectory),
      signingCertId: idOf(earlierCa),
    },
  };
  const [lastYear, soon] = [new Date('2025-12-01T00:00:00Z'), new Date('2026-06-01T00:00:00Z')];
  const filters: Readonly<Record<string, IssuedCertFilter>> = {
    'in any state': {},
    'in state valid': { state: 'valid' },
    'in state expired': { state: 'expired' },
    'in state revoked': { state: 'revoked' },
    'that expire before a time': { expiresBefore: lastYear },
    'that expire after a time': { expiresAfter: soon },
    'that expire between two times': { expiresAfter: lastYear, expiresBefore: soon },
    'that are valid and expire before a time': { state: 'valid', expiresBefore: soon },
    'that are expired, before a time': { state: 'expired', expiresBefore: lastYear },
    'that are revoked and expire after a time': { state: 'revoked', expiresAfter: soon },
  };
  const cases = Object.entries(ids).flatMap(([whose, id]) =>
    Object.entries(filters).map(([which, filter]) => ({ whose, which, filter: { ...id, ...filter } })),
  );
  const pages = pagesOf('issued_certs', ['id']);

  test.each(cases)('of $whose, $which', ({ filter }) =>
    expectBounded(pages, (db, page) => listIssuedCertRows(db, filter, page, now)),
  );

  test.each(Object.entries(ids))('of %s, of one serial number', (_, id) =>
    expectBounded(
      pages,
      (db, page) => listIssuedCertRows(db, { ...id, serial: Buffer.from('01ff', 'hex') }, page, now),
      {
        rows: 10,
        pages: 30,
      },
    ),
  );

  test.each([
    ['a rare name', notable.rareName],
    ['no name', 'nothing.corp.example'],
  ])('of %s, in any state and order', async (_, subject) => {
    for (const filter of Object.values(filters))
      await expectBounded(
        pages,
        (db, page) => listIssuedCertRows(db, { ...ids['a large directory'], ...filter, subject }, page, now),
        { rows: 10, pages: 40 },
      );
  });

  test('of a name on a tenth of all certs, by id', () =>
    expectBounded(
      pages,
      (db, page) => listIssuedCertRows(db, { ...ids['a busy key'], subject: notable.hotName }, page, now),
      { rows: 3 * (LIMIT + 1) + 10, pages: 8 * (LIMIT + 1) },
    ));
});

describe('orders', () => {
  const ids = {
    'a large directory': { directoryId: idOf(notable.largeDirectory) },
    'a small directory': { directoryId: idOf(notable.smallDirectory) },
    'a busy key': { acmeKeyId: idOf(notable.busyKey) },
    'a key whose orders are old': { acmeKeyId: idOf(notable.quietKey) },
    'a busy key and its directory': { acmeKeyId: idOf(notable.busyKey), directoryId: idOf(notable.largeDirectory) },
    'a busy key and another directory': { acmeKeyId: idOf(notable.busyKey), directoryId: idOf(notable.smallDirectory) },
  };
  /** Open orders past their end, which a sweep has still to move: all of the service are looked at. */
  const overdue = 200;
  const bounds = { rows: ofPage.rows + 2 * overdue, pages: ofPage.pages + 2 * overdue };
  const cases = Object.entries(ids).flatMap(([whose, id]) =>
    [undefined, ...statesOf(orderLifecycle)].map((state) => ({ whose, state, filter: { ...id, state } })),
  );
  test.each(cases)('of $whose, in state $state', ({ filter }) =>
    expectBounded(pagesOf('orders', ['id']), (db, page) => listOrderRows(db, filter, page, now), bounds),
  );
});

describe('CA certs', () => {
  test.each([
    ['all', {}],
    ['the roots', { certType: 'root' }],
    ['the intermediates', { certType: 'intermediate' }],
    ['those below one with many', { parentId: idOf(notable.busyParent) }],
    ['those below one with none', { parentId: idOf(notable.smallDirectory) }],
    ['the intermediates below one', { certType: 'intermediate', parentId: idOf(notable.busyParent) }],
    ['the roots below one', { certType: 'root', parentId: idOf(notable.busyParent) }],
  ] as const)('%s', (_, filter) =>
    expectBounded(pagesOf('signing_certs', ['id']), (db, page) => listSigningCertRows(db, filter, page)),
  );
});

describe('live leaves are counted side by side, and no further than asked', () => {
  const limit = 1_000;
  test.each([
    ['of a CA with many', notable.laterCa],
    ['of a CA whose leaves have nearly all ended', notable.earlierCa],
    ['of a rare CA', notable.rareCa],
    ['of a CA with none', 999_999],
  ])('%s', (_, ca) =>
    // Until the table is vacuumed each row is looked up in it too.
    expectBounded([{ limit, direction: 'asc', sort: 'id' }], (db) => countLiveLeaves(db, idOf(ca), { now, limit }), {
      rows: limit,
      pages: 2 * limit,
    }),
  );
});

describe('directories', () => {
  test.each([
    ['all', {}],
    ['of a CA with many', { signingCertId: idOf(notable.earlierCa) }],
    ['of a CA with some', { signingCertId: idOf(notable.laterCa) }],
    ['of a CA with none', { signingCertId: idOf(999_999) }],
  ])('%s', (_, filter) =>
    expectBounded(pagesOf('directories', ['id', 'name']), (db, page) => listDirectoryRows(db, filter, page)),
  );
});

describe('EAB tokens', () => {
  const { largeDirectory, smallDirectory, busyKey, smallKey } = notable;
  test.each([
    ['of a large directory', { directoryId: idOf(largeDirectory) }],
    ['of a small directory', { directoryId: idOf(smallDirectory) }],
    ['unused, of a large directory', { directoryId: idOf(largeDirectory), acmeKeyId: null }],
    ['unused, of a small directory', { directoryId: idOf(smallDirectory), acmeKeyId: null }],
    ['of an account', { acmeKeyId: idOf(busyKey) }],
    ['of an account and its directory', { acmeKeyId: idOf(busyKey), directoryId: idOf(largeDirectory) }],
    ['of an account and another directory', { acmeKeyId: idOf(smallKey), directoryId: idOf(largeDirectory) }],
  ])('%s', (_, filter) =>
    // Each shows the URL of its directory, which is looked up by its id.
    expectBounded(
      pagesOf('external_bindings', ['id', 'name']),
      (db, page) => listExternalBindingRows(db, filter, page),
      {
        rows: ofPage.rows,
        pages: ofPage.pages + 4 * (LIMIT + 1),
      },
    ),
  );
});

describe('account keys', () => {
  const cases = [notable.largeDirectory, notable.smallDirectory].flatMap((directory) =>
    [undefined, ...statesOf(acmeKeyLifecycle)].map((state) => ({ directory, state })),
  );
  test.each(cases)('of directory $directory, in state $state', ({ directory, state }) =>
    expectBounded(
      pagesOf('acme_keys', ['id', 'name']),
      (db, page) => listAcmeKeyRows(db, { directoryId: idOf(directory), state }, page),
      { rows: ofPage.rows, pages: ofPage.pages + 4 * (LIMIT + 1) },
    ),
  );
});

describe('audit events', () => {
  test.each([
    ['all', {}],
    ['of an object', { objectId: idOf(notable.changedObject) }],
    ['of nothing', { objectId: idOf(999_999) }],
    ['by a busy actor', { actor: 'busy' }],
    ['by an actor of old', { actor: 'early' }],
    ['by a rare actor', { actor: 'a7' }],
    ['of an object and by an actor', { objectId: idOf(notable.changedObject), actor: 'busy' }],
    ['of an object and by a rare actor', { objectId: idOf(notable.changedObject), actor: 'a7' }],
  ])('%s', (_, filter) => expectBounded(pagesOf('audit', ['id']), (db, page) => listAuditRows(db, filter, page)));
});

describe('the pages for people', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => idOf(index + 1));
  /** Of each a page, and the way to its begin. */
  const ofHundred: Bounds = { rows: 100 * (LIMIT + 1) + 100, pages: 100 * (LIMIT + 1 + 12) };

  test('count in directories, no further than asked', () =>
    expectBounded(
      [{ limit: 1, direction: 'asc', sort: 'id' }],
      (db) => countInDirectories(db, hundred.slice(0, 25), { now, since: idOf(0.9 * counts.orders), most: 100 }),
      { rows: 25 * 9 * 100, pages: 25 * 9 * 60 },
    ));
  test.each(statesOf(orderLifecycle))('list orders in state %s of many directories', (state) =>
    expectBounded(
      pagesOf('orders', ['id']),
      (db, { limit, after }) => listOrdersAcross(db, state, { ids: hundred, limit, after }),
      ofHundred,
    ),
  );
  test('list what ends next of many CA certs', () =>
    expectBounded(
      pagesOf('issued_certs', ['id']),
      (db, { limit, after }) => listLiveCertsAcross(db, now, { ids: hundred, limit, after }),
      ofHundred,
    ));
  test('list the newest orders of all, and CA certs with their CRLs', async () => {
    await expectBounded(pagesOf('orders', ['id']), (db, page) => listOrderRows(db, {}, page, now));
    await expectBounded(pagesOf('signing_certs', ['id']), (db, page) => listCaTreeRows(db, page), {
      rows: 2 * ofPage.rows,
      pages: 2 * ofPage.pages,
    });
  });
  test('find certificates by name, serial number and key alone', async () => {
    const pages = pagesOf('issued_certs', ['id']);
    const byName: Bounds = { ...ofPage, pages: ofPage.pages + LIMIT };
    for (const filter of [
      { subject: notable.hotName },
      { subject: notable.rareName },
      { serial: Buffer.from('01ff', 'hex') },
    ])
      await expectBounded(pages, (db, page) => listIssuedCertRows(db, filter, page, now), byName);
    await expectBounded(pages.slice(0, 1), (db) => findCertIdsOfKey(db, Buffer.from('thumbprint'), LIMIT));
  });
});
