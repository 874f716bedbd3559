// What a download reads of CA certs: those of its chain, and never all there are.
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findDownload } from '../../src/store/certificates.ts';
import type { Db } from '../../src/store/database.ts';
import { type TestCa, testCa } from '../support/ca.ts';
import { type GivenCert, givenIssuedCert } from '../support/given-issued-cert.ts';
import { type GivenAccount, givenAccount } from '../support/given-order.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';
import { openPlanner, type Planner, planModes } from '../support/plans.ts';

const OTHER_CAS = 2_000;

let running: TestCa;
let planner: Planner;
let account: GivenAccount;
let cert: GivenCert;

beforeAll(async () => {
  running = await testCa();
  const { ca } = running;
  const issuer = await givenIntermediate(ca);
  account = await givenAccount(ca, issuer);
  cert = await givenIssuedCert(ca, account);
  await copies(ca.database.db, issuer.id);
  await sql`analyze`.execute(ca.database.db);
  planner = openPlanner(ca.database, running.databaseUrl);
});
afterAll(async () => {
  await planner[Symbol.asyncDispose]();
  await running[Symbol.asyncDispose]();
});

const copies = (db: Db, id: string): Promise<unknown> =>
  sql`
    insert into signing_certs (id, state, origin, created_at, name, cert_type, key_availability, key_type, parent_id, der,
                               subject, subject_der, ski, serial, not_before, not_after, valid_days)
    select gen_random_uuid(), state, origin, created_at, name, cert_type, key_availability, key_type, parent_id,
           der || int4send(n), subject, subject_der, '\x01', int4send(n), not_before, not_after, valid_days
      from generate_series(1, ${sql.lit(OTHER_CAS)}) n, signing_certs where signing_certs.id = ${id}`.execute(db);

test.each(planModes)('%s: the CA certs above it are found by their ids', async (mode) => {
  const [plan] = await planner.plansOf(mode, async (db) => {
    const found = await findDownload(db, { id: cert.id, accountId: account.acmeKeyId });
    expect(found?.links).toHaveLength(2);
  });
  expect(plan?.rowsRead).toBeLessThanOrEqual(20);
});
