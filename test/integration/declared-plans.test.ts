// What a visit of the operator reads of large tables, also while the planner knows nothing of them yet.
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { findDeclaredAcmeKey } from '../../src/store/declared-acme-keys.ts';
import { findDeclaredBinding } from '../../src/store/declared-bindings.ts';
import { givenCa } from '../support/given.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { openPlanner, planModes } from '../support/plans.ts';

const ROWS = 5_000;
const owners = Array.from({ length: 16 }, (_, index) => ({ namespace: 'shop', name: `till-${index + 1}` }));

test.each(planModes)('objects are looked up by their names, one index page or two for each (%s)', async (mode) => {
  await using given = await givenCa();
  const { ca } = given;
  const { db } = ca.database;
  const { id } = await givenDirectory(ca);
  await sql`
    insert into external_bindings (id, origin, origin_namespace, origin_name, origin_uid, origin_generation, created_at,
                                   directory_id, key_id, mac_sealed, order_validations)
    select gen_random_uuid(), 'kubernetes', 'shop', 'till-' || n, 'uid', 1, now(), ${id}, 'till-' || n, '', 'challenge'
      from generate_series(1, ${ROWS}::int) n`.execute(db);
  await sql`
    insert into acme_keys (id, state, origin, origin_namespace, origin_name, origin_uid, origin_generation, created_at,
                           directory_id, order_validations, contacts, thumbprint, spki, jwk)
    select gen_random_uuid(), 'valid', 'kubernetes', 'shop', 'till-' || n, 'uid', 1, now(), ${id}, 'challenge', '{}',
           int4send(n), '', '{}'
      from generate_series(1, ${ROWS}::int) n`.execute(db);
  await using planner = openPlanner(ca.database, given.databaseUrl);
  for (const find of [findDeclaredBinding, findDeclaredAcmeKey]) {
    const plans = await planner.plansOf(mode, (handle) => Promise.all(owners.map((owner) => find(handle, owner))));
    expect(plans).toHaveLength(1);
    for (const plan of plans) expect(plan.rowsRead).toBeLessThan(100);
  }
});
