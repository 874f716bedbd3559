// The live catalogue against the code: tables.ts, the lifecycles, and the rules of the schema.
import { type RawBuilder, sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acmeKeyLifecycle } from '../../src/lifecycles/acme-key.ts';
import { authorizationLifecycle } from '../../src/lifecycles/authorization.ts';
import { challengeLifecycle, challengeTypes } from '../../src/lifecycles/challenge.ts';
import { issuedCertLifecycle } from '../../src/lifecycles/issued-cert.ts';
import { statesOf } from '../../src/lifecycles/lifecycle.ts';
import { orderLifecycle } from '../../src/lifecycles/order.ts';
import { signingCertLifecycle } from '../../src/lifecycles/signing-cert.ts';
import type { Db } from '../../src/store/database.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { columnsOf, type SourceColumn, tablesSource } from '../support/tables-source.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

/** The unions that tables.ts names instead of listing. */
const unions: Readonly<Record<string, readonly string[]>> = {
  SigningCertState: statesOf(signingCertLifecycle),
  AcmeKeyState: statesOf(acmeKeyLifecycle),
  OrderState: statesOf(orderLifecycle),
  AuthorizationState: statesOf(authorizationLifecycle),
  ChallengeState: statesOf(challengeLifecycle),
  IssuedCertState: statesOf(issuedCertLifecycle),
  ChallengeType: challengeTypes,
};

// Kysely's own two tables and the partitions of audit are not the program's business.
const ours = sql`c.relnamespace = current_schema()::regnamespace and not c.relispartition and c.relname !~ '^acmery_migrations'`;

const columns = columnsOf(tablesSource());

async function read<Row>(query: RawBuilder<Row>, db: Db = database.db.db): Promise<readonly Row[]> {
  return (await query.execute(db)).rows;
}

const describe = ({ table, column, type, nullable, defaulted }: Omit<SourceColumn, 'fixed' | 'oneOf'>): string =>
  `${table}.${column} ${type}${nullable ? '' : ' not null'}${defaulted ? ' default' : ''}`;

async function liveColumns(db?: Db): Promise<readonly string[]> {
  const query = sql<Omit<SourceColumn, 'fixed' | 'oneOf'>>`
    select c.relname as table, a.attname as column,
           case t.typtype when 'd' then format_type(t.typbasetype, t.typtypmod)
                          else format_type(a.atttypid, a.atttypmod) end as type,
           not a.attnotnull as nullable, a.atthasdef as defaulted
      from pg_class c join pg_attribute a on a.attrelid = c.oid join pg_type t on t.oid = a.atttypid
     where ${ours} and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped`;
  return (await read(query, db)).map(describe).sort();
}

const sourceColumns = (source: string): readonly string[] => columnsOf(source).map(describe).sort();

test('every table and column of the database is in tables.ts with its type, nullability and default, and no other', async () => {
  expect(await liveColumns()).toEqual(sourceColumns(tablesSource()));
});

test('a column added on one side alone is seen', async () => {
  const planted = tablesSource().replace('  caa_tag: Text;', '  caa_tag: Text;\n  colour: Text | null;');
  const live = await liveColumns();
  expect(sourceColumns(planted).filter((column) => !live.includes(column))).toEqual(['directories.colour text']);
  const tx = await database.db.db.startTransaction().execute();
  await sql`alter table directories add column colour text`.execute(tx);
  expect((await liveColumns(tx)).filter((column) => !live.includes(column))).toEqual(['directories.colour text']);
  await tx.rollback().execute();
});

test('a column whose type the reader does not know is refused, not skipped', () => {
  const planted = tablesSource().replace('  caa_tag: Text;', '  caa_tag: Colour;');
  expect(() => columnsOf(planted)).toThrow('directories.caa_tag: no Postgres type is known for `Colour`.');
});

test('the domain of every enumerated column allows exactly the values of its type', async () => {
  const checks = await read(sql<{ column: string; definition: string }>`
    select c.relname || '.' || a.attname as column, pg_get_constraintdef(k.oid) as definition
      from pg_constraint k
      join pg_type t on t.oid = k.contypid and t.typbasetype = 'text'::regtype
      join pg_attribute a on a.atttypid = t.oid
      join pg_class c on c.oid = a.attrelid
     where ${ours} and c.relkind in ('r', 'p') and k.contype = 'c'`);
  const allowed = Object.fromEntries(
    checks.map(({ column, definition }) => [
      column,
      [...definition.matchAll(/'([^']*)'::text/g)].map(([, value]) => value),
    ]),
  );
  const declared = Object.fromEntries(
    columns.flatMap(({ table, column, oneOf }) =>
      oneOf === undefined ? [] : [[`${table}.${column}`, typeof oneOf === 'string' ? unions[oneOf] : oneOf]],
    ),
  );
  expect(allowed).toEqual(declared);
});

test('a CHECK is of several columns: what one may hold is said by its domain', async () => {
  const single = await read(sql<{ name: string }>`
    select k.conname as name from pg_constraint k join pg_class c on c.oid = k.conrelid
     where ${ours} and k.contype = 'c' and cardinality(k.conkey) < 2`);
  expect(single).toEqual([{ name: 'nonce_keys_one_row_check' }]);
});

test('the columns that are `Fixed` in tables.ts are those that a trigger guards', async () => {
  const guarded = await read(sql<{ column: string }>`
    select distinct c.relname || '.' || a.attname as column
      from pg_trigger t
      join pg_class c on c.oid = t.tgrelid
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
       and (a.attnum = any(t.tgattr::smallint[]) or t.tgname = 'audit_append_only')
     where ${ours} and (t.tgname = c.relname || '_immutable' or t.tgname = 'audit_append_only')
     order by 1`);
  const fixed = columns.filter((column) => column.fixed).map(({ table, column }) => `${table}.${column}`);
  expect(guarded.map(({ column }) => column)).toEqual(fixed.sort());
});

test('all text is compared byte by byte', async () => {
  const others = await read(sql`
    select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
     where ${ours} and c.relkind in ('r', 'p') and a.attnum > 0 and a.attcollation <> 0 and a.attcollation <> '"C"'::regcollation`);
  expect(others).toEqual([]);
});

test('nonces and rate limits alone are unlogged', async () => {
  const unlogged = await read(sql<{ relname: string }>`
    select c.relname from pg_class c where ${ours} and c.relkind = 'r' and c.relpersistence = 'u' order by 1`);
  expect(unlogged.map(({ relname }) => relname)).toEqual(['nonce_keys', 'rate_limits', 'spent_nonces']);
});

test('DER that can be long is stored without an attempt to compress it', async () => {
  const external = await read(sql<{ column: string }>`
    select c.relname || '.' || a.attname as column from pg_class c join pg_attribute a on a.attrelid = c.oid
     where ${ours} and c.relkind = 'r' and a.attnum > 0 and a.attstorage = 'e' order by 1`);
  expect(external.map(({ column }) => column)).toEqual([
    'crls.der',
    'issued_certs.der',
    'ocsp_signers.der',
    'orders.tbs',
    'signing_certs.csr',
    'signing_certs.der',
  ]);
});

test('the name of a constraint or index begins with its table and ends with what it is', async () => {
  const named = await read(sql<{ relname: string; name: string; ending: string }>`
    select c.relname, k.conname as name,
           case k.contype when 'p' then '_pkey' when 'u' then '_key' when 'f' then '_fkey' else '_check' end as ending
      from pg_constraint k join pg_class c on c.oid = k.conrelid where ${ours} and k.contype in ('p', 'u', 'f', 'c')
    union all
    select c.relname, i.relname, case when x.indisprimary then '_pkey' when x.indisunique then '_key' else '_idx' end
      from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid where ${ours}`);
  expect(
    named.filter(({ relname, name, ending }) => !name.startsWith(`${relname}_`) || !name.endsWith(ending)),
  ).toEqual([]);
});
