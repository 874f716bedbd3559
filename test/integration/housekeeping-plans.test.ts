// Housekeeping reads what it is about, whatever else is in the tables: every statement of the sweeps, as Postgres plans it.
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Db } from '../../src/store/database.ts';
import { endDeadChallenges, expireAuthorizations, expireOrders } from '../../src/store/expiry.ts';
import { removeFullBuckets, takeToken } from '../../src/store/rate-limits.ts';
import {
  forgetReplacements,
  removeAuthorizations,
  removeCerts,
  removeOrders,
  removeRevokedCerts,
} from '../../src/store/retention.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { idOf } from '../support/listed-rows.ts';
import { openPlanner, type Plan, type Planner, planModes } from '../support/plans.ts';
import { exampleRows, insertRows, now } from '../support/rows.ts';

const ROWS = 20_000;
/** A twentieth of each table, so that a scan of it all shows; each statement is run four times and changes what it can. */
const LIMIT = 200;
const SEEDING_MS = 60_000;
const NOBODY = '00000000-0000-0000-0000-000000000000';

const rows = exampleRows();
let database: TestDatabase;
let planner: Planner;
beforeAll(async () => {
  database = await testDatabase({ statementTimeoutMs: 0 });
  await insertRows(database.db.db, rows, ['signing_certs', 'directories', 'acme_keys']);
  await seed(database.db.db);
  planner = openPlanner(database.db, database.url);
}, SEEDING_MS);
afterAll(async () => {
  await planner[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

/** Row n was created n seconds after the time of `idOf` and ended an hour later; the middle of the table ends now. */
const middle = new Date(1_779_019_200_000 + 1_000 * (ROWS / 2) + 3_600_000);
const endOf = sql`to_timestamp(1779019200 + n + 3600)`;

async function seed(db: Db): Promise<void> {
  const [account, directory, ca] = [rows.acme_keys.id, rows.directories.id, rows.signing_certs.id];
  const all = sql`generate_series(1, ${sql.lit(ROWS)}) n`;
  const id = idOf(sql`n`);
  const other = sql`md5(n::text)::uuid`;
  const statements = [
    sql`set session_replication_role = replica`,
    sql`insert into orders (id, acme_key_id, directory_id, created_at, expires_at, state, profile, identifiers, issued_cert_id)
        select ${id}, ${account}, ${directory}, ${now}, ${endOf},
               case n % 4 when 0 then 'invalid' when 1 then 'pending' else 'valid' end, 'server', '[]', ${other} from ${all}`,
    sql`insert into authorizations (id, acme_key_id, created_at, expires_at, state, type, value, wildcard, auto)
        select ${other}, ${account}, ${now}, ${endOf}, 'pending', 'dns', 'n' || n, false, false from ${all}`,
    sql`insert into order_authorizations select ${id}, ${other}, 0 from ${all} where n % 4 > 1`,
    sql`insert into challenges (id, authorization_id, type, state, token, key_authorization, account_url, due_at)
        select ${id}, ${other}, 'http-01', case when n % 100 = 0 then 'processing' else 'pending' end, 'token', 'token',
               'https://a', ${now} from ${all}`,
    sql`insert into issued_certs (id, order_id, acme_key_id, directory_id, signing_cert_id, not_before, not_after, state,
                                  revoked_at, reason, serial, key_thumbprint, subjects, der)
        select ${id}, ${other}, ${account}, ${directory}, ${ca}, ${now}, ${endOf},
               case when n % 5 = 0 then 'revoked' else 'valid' end, case when n % 5 = 0 then ${now}::timestamptz end,
               case when n % 5 = 0 then 1 end, decode(md5(n::text), 'hex'), '\\x00', array['n' || n, 'm' || n], '\\x00'
          from ${all}`,
    sql`insert into issued_cert_names
        select name, ${id} from ${all}, unnest(array['n' || n, 'm' || n]) name`,
    sql`insert into revocations
        select ${ca}, decode(md5(n::text), 'hex'), ${now}, ${now}, ${endOf}, '\\x00' from ${all} where n % 5 = 0`,
    sql`insert into rate_limits select 'orders 1/1', 'n' || n, ${endOf} from ${all}`,
    sql`set session_replication_role = default`,
    sql`analyze`,
  ];
  await db.connection().execute(async (session) => {
    for (const statement of statements) await statement.execute(session);
  });
}

const bounds = { now: middle, before: middle, limit: LIMIT };
const first = { expiresAt: new Date(0), id: NOBODY };
const error = { type: 'unauthorized', detail: 'It ended.' };

test.each<readonly [string, (db: Db) => Promise<unknown>]>([
  ['open orders that ended', (db) => expireOrders(db, () => error, bounds)],
  ['authorizations that ended', (db) => expireAuthorizations(db, first, bounds)],
  [
    'authorizations that ended after others',
    (db) => expireAuthorizations(db, { expiresAt: new Date(middle.getTime() - 60_000), id: NOBODY }, bounds),
  ],
  ['challenges of ended authorizations', (db) => endDeadChallenges(db, error, bounds)],
  ['finished orders', (db) => removeOrders(db, NOBODY, bounds)],
  ['links to the orders that were to replace', (db) => forgetReplacements(db, [Buffer.alloc(16)], [NOBODY])],
  ['authorizations without orders', (db) => removeAuthorizations(db, first, bounds)],
  ['expired certificates', (db) => removeCerts(db, rows.signing_certs.id, bounds)],
  ['revoked certificates', (db) => removeRevokedCerts(db, bounds)],
  ['full buckets', (db) => removeFullBuckets(db, { kind: '', subject: '' }, bounds)],
  [
    'a token of a bucket',
    (db) => takeToken(db, { kind: 'orders 1/1', subject: 'n7', count: 1, perMs: 1_000 }, new Date(0)),
  ],
])('no scan for %s', async (_, work) => {
  const faults: unknown[] = [];
  for (const mode of planModes)
    for (const plan of await planner.plansOf(mode, work)) {
      const fault = faultOf(plan);
      if (fault !== undefined) faults.push({ fault, mode, ...plan });
    }
  expect(faults).toEqual([]);
});

const mayBe = /^(Index|Index Only|Bitmap Index|Bitmap Heap|Tid|Function|WorkTable) Scan$/;

/** A batch reads its rows some times over, and what belongs to them; a table has twenty times as many. */
function faultOf({ scans, rowsRead, rowsSorted }: Plan): string | undefined {
  const scan = scans.find((kind) => !mayBe.test(kind));
  if (scan !== undefined) return scan;
  if (rowsRead > 12 * LIMIT) return `${rowsRead} rows read`;
  if (rowsSorted > 4 * LIMIT) return `${rowsSorted} rows sorted`;
  return undefined;
}
