// What the statements behind newAccount read: what they are about, and never all accounts, keys or tokens.
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newUuid } from '../../src/core/ids.ts';
import type { Db } from '../../src/store/database.ts';
import { findBindingByKid, findExternalBinding } from '../../src/store/external-bindings.ts';
import { findKnownKey } from '../../src/store/known-keys.ts';
import { insertAcmeKey } from '../../src/store/register-account.ts';
import { type TestCa, testCa } from '../support/ca.ts';
import { anAccountKey, givenAcmeKey } from '../support/given-acme-key.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenExternalBinding } from '../support/given-external-binding.ts';
import { openPlanner, type Planner, planModes } from '../support/plans.ts';

/** A plan is made once a connection, perhaps when there is little: what it reads of this, it will read of all there ever are. */
const SOME = 100;

let running: TestCa;
let planner: Planner;
let directory: { readonly id: string };

beforeAll(async () => {
  running = await testCa();
  const { ca } = running;
  const { db } = ca.database;
  directory = await givenDirectory(ca);
  const [account, token] = [await givenAcmeKey(ca, directory), await givenExternalBinding(ca, directory)];
  await sql`
    with copied as (select gen_random_uuid() as id, sha256(n::text::bytea) as thumbprint from generate_series(1, ${sql.lit(SOME)}) n),
    made as (
      insert into acme_keys (id, state, origin, created_at, directory_id, order_validations, contacts, thumbprint, spki, jwk)
      select copied.id, state, origin, created_at, directory_id, order_validations, contacts, copied.thumbprint, spki, jwk
        from copied, acme_keys where acme_keys.id = ${account.id}),
    tokens as (
      insert into external_bindings (id, origin, created_at, directory_id, name, mac_sealed, order_validations)
      select copied.id, origin, created_at, directory_id, name, mac_sealed, order_validations
        from copied, external_bindings where external_bindings.id = ${token.id})
    insert into used_keys (thumbprint, why, since, acme_key_id)
    select thumbprint, 'account', now(), id from copied`.execute(db);
  // Of a table without statistics Postgres takes every partial index for an empty one.
  await sql`analyze directories, external_bindings, acme_keys, used_keys`.execute(db);
  planner = openPlanner(ca.database, running.databaseUrl);
});
afterAll(async () => {
  await planner[Symbol.asyncDispose]();
  await running[Symbol.asyncDispose]();
});

/** Registers a key and takes the account away again, so that its statement can be run once more for its plan. */
async function registerAndForget(db: Db, withToken: boolean): Promise<void> {
  const { ca } = running;
  const token = withToken ? await givenExternalBinding(ca, directory) : undefined;
  const seen = token && (await findExternalBinding(ca.database.db, token.id));
  const { thumbprint, spki, jwk } = await anAccountKey();
  const now = ca.clock.now();
  const id = newUuid(now);
  const made = { id, origin: 'acme', created_at: now, directory_id: directory.id, contacts: [] } as const;
  const given = {
    name: seen?.name ?? '',
    order_validations: seen?.order_validations ?? 'challenge',
    terms_agreed: null,
  };
  const sponsor = { external_binding_id: seen?.id ?? null, eab_jws: seen ? '{}' : null, owner: undefined };
  const row = await insertAcmeKey(db, { key: { ...made, ...given, ...sponsor, thumbprint, spki, jwk }, records: [] });
  expect(row).toMatchObject({ id });
  await ca.database.inTransaction(async (tx) => {
    await sql`set local session_replication_role = replica`.execute(tx);
    await sql`delete from used_keys where acme_key_id = ${id}`.execute(tx);
    await sql`delete from acme_keys where id = ${id}`.execute(tx);
    await sql`update external_bindings set acme_key_id = null, used_at = null where acme_key_id = ${id}`.execute(tx);
  });
}

describe.each(planModes)('%s', (mode) => {
  test.each<readonly [string, (db: Db) => Promise<unknown>]>([
    ['what is known of a key', (db) => findKnownKey(db, Buffer.alloc(32))],
    ['a token by its id', (db) => findBindingByKid(db, directory.id, { id: newUuid(new Date()) })],
    ['a token by its key id', (db) => findBindingByKid(db, directory.id, { keyId: 'till.7' })],
    ['a registration', (db) => registerAndForget(db, false)],
    ['a registration with a token', (db) => registerAndForget(db, true)],
  ])('%s reads by index what it is about', async (_, work) => {
    const [plan] = await planner.plansOf(mode, work);
    expect(plan?.scans.filter((scan) => !scan.startsWith('Index'))).toEqual([]);
    expect(plan?.rowsRead).toBeLessThan(20);
    expect(plan?.pages).toBeLessThan(300);
  });
});
