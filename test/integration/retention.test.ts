// What has been kept long enough goes, and with it what belongs to it; what is still of use stays.
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Ca } from '../../src/core/ca.ts';
import { certIdText } from '../../src/core/cert-id.ts';
import { newUuid } from '../../src/core/ids.ts';
import { removeEnded } from '../../src/core/retention.ts';
import { ensureAuditPartitions } from '../../src/store/audit-partitions.ts';
import type { Db } from '../../src/store/database.ts';
import type { Tables } from '../../src/store/tables.ts';
import { type TestCa, testCa } from '../support/ca.ts';
import { DAY_MS } from '../support/clock.ts';
import { exampleRows, insertRows, type Rows } from '../support/rows.ts';

const goOn = new AbortController().signal;

let given: TestCa;
let ca: Ca & Pick<TestCa['ca'], 'clock'>;
let db: Db;
let rows: Rows;
beforeEach(async () => {
  given = await testCa();
  ca = given.ca;
  db = ca.database.db;
  rows = exampleRows();
  await insertRows(db, rows, ['signing_certs', 'directories', 'acme_keys', 'used_keys']);
});
afterEach(() => given[Symbol.asyncDispose]());

const countOf = async (table: keyof Tables) => (await sql`select from ${sql.table(table)}`.execute(db)).rows.length;
const inFuture = (ms: number) => new Date(ca.clock.now().getTime() + ms);

type Ordered = { readonly state?: 'valid' | 'invalid' | 'processing' | 'pending'; readonly replaces?: string };

/** An order of now with an authorization of its own, and a challenge of that. */
async function ordered({ state = 'valid', replaces }: Ordered = {}): Promise<string> {
  const [id, authorization, now] = [newUuid(ca.clock.now()), newUuid(ca.clock.now()), ca.clock.now()];
  const times = { created_at: now, expires_at: inFuture(DAY_MS) };
  const cert = newUuid(now);
  const reserved = {
    issued_cert_id: cert,
    signing_cert_id: rows.signing_certs.id,
    serial: Buffer.from(cert),
    tbs: Buffer.from('tbs'),
    csr_sha256: Buffer.from('csr'),
    key_thumbprint: Buffer.from('key'),
    due_at: now,
  };
  const states = { valid: { issued_cert_id: cert }, processing: reserved, invalid: {}, pending: {} };
  const order = { ...rows.orders, ...times, id, state, ...states[state], ...(replaces && { replaces }) };
  await db.insertInto('orders').values(order).execute();
  await db
    .insertInto('authorizations')
    .values({ ...rows.authorizations, ...times, id: authorization })
    .execute();
  await db
    .insertInto('order_authorizations')
    .values({ order_id: id, authorization_id: authorization, position: 0 })
    .execute();
  const challenge = { ...rows.challenges, id: newUuid(now), authorization_id: authorization };
  await db.insertInto('challenges').values(challenge).execute();
  return id;
}

type Certified = { readonly days?: number; readonly isRevoked?: boolean };

/** A certificate of now, with two names. */
async function certified({ days = 90, isRevoked = false }: Certified = {}): Promise<string> {
  const id = newUuid(ca.clock.now());
  const subjects = ['shop.corp.example', 'www.corp.example'];
  const cert = {
    ...rows.issued_certs,
    id,
    serial: Buffer.from(id),
    not_before: ca.clock.now(),
    not_after: inFuture(days * DAY_MS),
    subjects,
    ...(isRevoked && ({ state: 'revoked', revoked_at: ca.clock.now(), reason: 1 } as const)),
  };
  await db.insertInto('issued_certs').values(cert).execute();
  await db
    .insertInto('issued_cert_names')
    .values(subjects.map((name) => ({ name, issued_cert_id: id })))
    .execute();
  if (isRevoked) {
    const revocation = { ...rows.revocations, serial: cert.serial, not_after: cert.not_after };
    await db.insertInto('revocations').values(revocation).execute();
  }
  return id;
}

test('G-23: finished orders go 30 days after their end, with their authorizations and challenges', async () => {
  await ordered();
  await ordered({ state: 'invalid' });
  ca.clock.advance(31 * DAY_MS);
  await removeEnded(ca, goOn);
  expect(await countOf('orders')).toBe(2);
  expect(await countOf('authorizations')).toBe(2);
  ca.clock.advance(1);
  const late = await ordered();
  await removeEnded(ca, goOn);
  expect(await db.selectFrom('orders').select('id').execute()).toEqual([{ id: late }]);
  for (const table of ['order_authorizations', 'authorizations', 'challenges'] as const)
    expect(await countOf(table), table).toBe(1);
  expect(given.logLines.join()).toContain('"what":"order_removed","count":2');
});

test('an order under way stays however old it is, and so do its authorizations', async () => {
  const id = await ordered({ state: 'processing' });
  ca.clock.advance(1_000 * DAY_MS);
  await removeEnded(ca, goOn);
  expect(await db.selectFrom('orders').select('id').execute()).toEqual([{ id }]);
  expect(await countOf('authorizations')).toBe(1);
  expect(await countOf('challenges')).toBe(1);
});

test('ORD-22: an authorization that two orders share stays until both are gone', async () => {
  const first = await ordered();
  ca.clock.advance(DAY_MS / 2);
  const second = await ordered();
  await sql`update authorizations set expires_at = ${inFuture(DAY_MS)}`.execute(db);
  const [shared] = await db
    .selectFrom('order_authorizations')
    .select('authorization_id')
    .where('order_id', '=', first)
    .execute();
  await db
    .insertInto('order_authorizations')
    .values({ order_id: second, authorization_id: shared?.authorization_id ?? '', position: 1 })
    .execute();
  ca.clock.advance(30.75 * DAY_MS);
  await removeEnded(ca, goOn);
  expect(await db.selectFrom('orders').select('id').execute()).toEqual([{ id: second }]);
  expect(await countOf('authorizations')).toBe(2);
  ca.clock.advance(DAY_MS);
  await removeEnded(ca, goOn);
  expect(await countOf('authorizations')).toBe(0);
});

test('expired certificates go 400 days after their end, with their names; ACC-17: the account and its key stay', async () => {
  await certified();
  const later = await certified({ days: 91 });
  ca.clock.advance(490 * DAY_MS);
  await removeEnded(ca, goOn);
  expect(await countOf('issued_certs')).toBe(2);
  ca.clock.advance(1);
  await removeEnded(ca, goOn);
  expect(await db.selectFrom('issued_certs').select('id').execute()).toEqual([{ id: later }]);
  expect(await db.selectFrom('issued_cert_names').select('issued_cert_id').distinct().execute()).toEqual([
    { issued_cert_id: later },
  ]);
  ca.clock.advance(5_000 * DAY_MS);
  await removeEnded(ca, goOn);
  expect(await countOf('issued_certs')).toBe(0);
  expect(await countOf('acme_keys')).toBe(1);
  expect(await countOf('used_keys')).toBe(1);
});

test('a revoked certificate and its revocation stay until a CRL was made after its end', async () => {
  const short: Ca = { ...ca, retention: { ...ca.retention, expiredCertsMs: 0 } };
  await certified({ days: 1 });
  await certified({ days: 1, isRevoked: true });
  ca.clock.advance(8 * DAY_MS);
  await removeEnded(short, goOn);
  expect(await db.selectFrom('issued_certs').select('state').execute()).toEqual([{ state: 'revoked' }]);
  expect(await countOf('revocations')).toBe(1);
  ca.clock.advance(DAY_MS + 1);
  await removeEnded(short, goOn);
  for (const table of ['issued_certs', 'issued_cert_names', 'revocations'] as const)
    expect(await countOf(table), table).toBe(0);
});

test('ARI-8: an invalid order that is gone leaves the certificate that it was to replace free; a valid one does not', async () => {
  const [free, replaced] = [await certified(), await certified()];
  const certId = (id: string) => certIdText({ keyIdentifier: Buffer.from('ski'), serial: Buffer.from(id) });
  const given = [
    [free, await ordered({ state: 'invalid', replaces: certId(free) })],
    [replaced, await ordered({ replaces: certId(replaced) })],
  ] as const;
  for (const [cert, order] of given)
    await db.updateTable('issued_certs').set({ replaced_by: order }).where('id', '=', cert).execute();
  ca.clock.advance(32 * DAY_MS);
  await removeEnded(ca, goOn);
  expect(await countOf('orders')).toBe(0);
  const certs = await db.selectFrom('issued_certs').select(['id', 'replaced_by']).execute();
  expect(new Map(certs.map((cert) => [cert.id, cert.replaced_by]))).toEqual(
    new Map([
      [free, null],
      [replaced, given[1][1]],
    ]),
  );
});

test('what somebody holds is passed over, and nobody waits', async () => {
  const busy = await ordered();
  await ordered();
  ca.clock.advance(32 * DAY_MS);
  await db.transaction().execute(async (tx) => {
    await tx.selectFrom('orders').select('id').where('id', '=', busy).forUpdate().execute();
    await removeEnded(ca, goOn);
  });
  expect(await db.selectFrom('orders').select('id').execute()).toEqual([{ id: busy }]);
});

test('thousands go in batches, and nothing more once it is told to stop', async () => {
  const fixed = { acme_key_id: rows.acme_keys.id, directory_id: rows.directories.id };
  await sql`
    insert into orders (id, acme_key_id, directory_id, created_at, expires_at, state, profile, identifiers)
    select ('01900000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${fixed.acme_key_id}, ${fixed.directory_id},
           ${ca.clock.now()}, ${ca.clock.now()}, 'invalid', 'server', '[]' from generate_series(1, 2500) n`.execute(db);
  ca.clock.advance(31 * DAY_MS);
  await removeEnded(ca, AbortSignal.abort());
  expect(await countOf('orders')).toBe(2500);
  await removeEnded(ca, goOn);
  expect(await countOf('orders')).toBe(0);
});

test('the audit log loses whole months', async () => {
  await ensureAuditPartitions(db, ca.clock.now());
  ca.clock.advance(400 * DAY_MS);
  await removeEnded(ca, goOn);
  const months = async () =>
    (await db.introspection.getTables()).map(({ name }) => name).filter((name) => /^audit_\d/.test(name));
  expect(await months()).toEqual(['audit_2026_05', 'audit_2026_06', 'audit_2026_07']);
  ca.clock.advance(31 * DAY_MS);
  await removeEnded(ca, goOn);
  expect(await months()).toEqual(['audit_2026_06', 'audit_2026_07']);
});
