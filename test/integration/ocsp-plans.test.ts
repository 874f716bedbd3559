// An OCSP answer reads the rows that it is about and no others, however many a CA has, as Postgres plans its statements.
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Db } from '../../src/store/database.ts';
import { findOcspStatus } from '../../src/store/ocsp.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { idOf } from '../support/listed-rows.ts';
import { openPlanner, type Planner, planModes } from '../support/plans.ts';
import { exampleRows, insertRows, now } from '../support/rows.ts';

const LEAVES = 20_000;
const CHILDREN = 2_000;
const ASKED = 20;

const rows = exampleRows();
const signingCertId = rows.signing_certs.id;
let database: TestDatabase;
let planner: Planner;
beforeAll(async () => {
  database = await testDatabase({ statementTimeoutMs: 0 });
  await insertRows(database.db.db, rows, ['signing_certs', 'directories', 'acme_keys']);
  await seed(database.db.db);
  planner = openPlanner(database.db, database.url);
}, 60_000);
afterAll(async () => {
  await planner[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const serialOf = (kind: 'leaf' | 'child', n: number) => Buffer.from(`${kind} ${n}`);

/** Every child was deleted, and every second one revoked. Each CA has had two signers. */
async function seed(db: Db): Promise<void> {
  const id = idOf(sql`n`);
  const statements = [
    sql`set session_replication_role = replica`,
    sql`insert into signing_certs (id, state, origin, created_at, deleted_at, cert_type, key_availability, key_type, parent_id,
                                   subject, der, subject_der, ski, serial, not_before, not_after, revoked_at, reason)
        select ${id}, case n % 2 when 0 then 'revoked' else 'active' end, 'api', ${now}, ${now}, 'intermediate', 'online',
               'ec_256', ${signingCertId}, '{}', 'der' || n::text::bytea, '\\x00', '\\x00', ('child ' || n)::bytea, ${now},
               ${now}::timestamptz + interval '1 year', case n % 2 when 0 then ${now}::timestamptz end,
               case n % 2 when 0 then 4 end
          from generate_series(1, ${CHILDREN}::int) n`,
    sql`insert into ocsp_signers (id, signing_cert_id, key_ref, not_after, der, due_at)
        select gen_random_uuid(), s.id, 'n' || n, ${now}::timestamptz + n * interval '1 day', '\\x00', ${now}
          from signing_certs s, generate_series(1, 2) n`,
    sql`insert into issued_certs (id, order_id, acme_key_id, directory_id, signing_cert_id, not_before, not_after, state,
                                  serial, key_thumbprint, subjects, der)
        select ${id}, ${id}, ${rows.acme_keys.id}, ${rows.directories.id}, ${signingCertId}, ${now}, ${now}, 'valid',
               ('leaf ' || n)::bytea, '\\x00', '{}', '\\x00'
          from generate_series(1, ${LEAVES}::int) n`,
    sql`set session_replication_role = default`,
    sql`analyze`,
  ];
  await db.connection().execute(async (session) => {
    for (const statement of statements) await statement.execute(session);
  });
}

const numbers = Array.from({ length: ASKED }, (_, n) => n + 1);
const ask = (db: Db, serials: readonly Buffer[]) =>
  Promise.all(serials.map((serial) => findOcspStatus(db, { signingCertId, serial })));

test.for([
  ['leaves', numbers.map((n) => serialOf('leaf', n))],
  ['CA certificates', numbers.map((n) => serialOf('child', n))],
  ['what nobody has issued', numbers.map((n) => serialOf('leaf', -n))],
] as const)('no scan for %s', async ([, serials]) => {
  for (const mode of planModes) {
    const plans = await planner.plansOf(mode, (db) => ask(db, serials));
    expect(plans).toHaveLength(1);
    for (const plan of plans) {
      expect(plan.scans.filter((kind) => kind === 'Seq Scan')).toEqual([]);
      // What was asked, the CA, its signers, the certificate.
      expect(plan.rowsRead, mode).toBeLessThan(6 * ASKED);
      expect(plan.pages, mode).toBeLessThan(20 * ASKED);
    }
  }
});

test('of deleted CA certificates, too, the status is that of their rows', async () => {
  const found = await ask(database.db.db, [
    serialOf('child', 1),
    serialOf('child', 2),
    serialOf('leaf', 1),
    Buffer.of(0),
  ]);
  expect(found).toMatchObject([
    { has_key: true, is_issued: true, revoked_at: null, reason: null },
    { has_key: true, is_issued: true, revoked_at: now, reason: 4 },
    { has_key: true, is_issued: true, revoked_at: null, reason: null },
    { has_key: true, is_issued: false, revoked_at: null, reason: null },
  ]);
});
