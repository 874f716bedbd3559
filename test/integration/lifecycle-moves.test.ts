// Every (from, to) pair of every lifecycle on a real database: a move happens exactly where the table says so.
import { type Insertable, sql, type Updateable } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newUuid } from '../../src/core/ids.ts';
import { acmeKeyLifecycle } from '../../src/lifecycles/acme-key.ts';
import { authorizationLifecycle } from '../../src/lifecycles/authorization.ts';
import { challengeLifecycle } from '../../src/lifecycles/challenge.ts';
import { issuedCertLifecycle } from '../../src/lifecycles/issued-cert.ts';
import { type Lifecycle, statesOf } from '../../src/lifecycles/lifecycle.ts';
import { orderLifecycle } from '../../src/lifecycles/order.ts';
import { signingCertLifecycle } from '../../src/lifecycles/signing-cert.ts';
import type { Db } from '../../src/store/database.ts';
import {
  moveAcmeKey,
  moveAuthorization,
  moveChallenge,
  moveIssuedCert,
  moveOrder,
  moveSigningCert,
} from '../../src/store/move.ts';
import type { Tables } from '../../src/store/tables.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { exampleRows, insertRows, now } from '../support/rows.ts';

let database: TestDatabase;
let db: Db;
beforeAll(async () => {
  database = await testDatabase();
  db = database.db.db;
});
afterAll(() => database[Symbol.asyncDispose]());

type Moved = { readonly id: string } | undefined;
type Case = {
  readonly table: string;
  readonly states: readonly string[];
  readonly allows: (from: string, to: string) => boolean;
  readonly begin: (from: string) => Promise<string>;
  readonly move: (id: string, to: string) => Promise<Moved>;
};

type StatefulTable = 'orders' | 'authorizations' | 'challenges' | 'acme_keys' | 'issued_certs' | 'signing_certs';
type Details<T extends StatefulTable> = {
  /** What a row in this state has besides its example. */
  readonly has: Partial<Record<Tables[T]['state'], Partial<Insertable<Tables[T]>>>>;
  /** What a move to this state writes with it. */
  readonly sets: Partial<Record<Tables[T]['state'], Omit<Updateable<Tables[T]>, 'state'>>>;
};

const reserved = {
  signing_cert_id: newUuid(now),
  issued_cert_id: newUuid(now),
  serial: Buffer.from('serial'),
  tbs: Buffer.from('tbs'),
  csr_sha256: Buffer.from('csr'),
  key_thumbprint: Buffer.from('key'),
  due_at: now,
};
const certificate = { subject_der: now.toISOString(), ski: 'ski', serial: 'serial' };
const bytes = Object.fromEntries(Object.entries(certificate).map(([name, text]) => [name, Buffer.from(text)]));
const noCertificate = { der: null, subject_der: null, ski: null, serial: null, not_before: null, not_after: null };
const response = { key_authorization: 'token.thumbprint', account_url: 'https://ca.example/acct/1', due_at: now };
const revocation = { revoked_at: now, reason: 1 };

const cases: readonly Case[] = [
  lifecycleCase('orders', orderLifecycle, moveOrder, {
    has: { processing: reserved, valid: { ...reserved, tbs: null } },
    sets: { processing: reserved, valid: { tbs: null }, ready: { signing_cert_id: null, tbs: null } },
  }),
  lifecycleCase('authorizations', authorizationLifecycle, moveAuthorization, {
    has: { valid: { validated_at: now } },
    sets: { valid: { validated_at: now } },
  }),
  lifecycleCase('challenges', challengeLifecycle, moveChallenge, {
    has: { processing: response, valid: { ...response, validated_at: now } },
    sets: { processing: response, valid: { validated_at: now }, invalid: { error: '{"type":"dns","detail":"gone"}' } },
  }),
  lifecycleCase('acme_keys', acmeKeyLifecycle, moveAcmeKey, { has: {}, sets: {} }),
  lifecycleCase('issued_certs', issuedCertLifecycle, moveIssuedCert, {
    has: { revoked: revocation },
    sets: { revoked: revocation },
  }),
  lifecycleCase('signing_certs', signingCertLifecycle, moveSigningCert, {
    has: { pending: noCertificate, revoked: revocation },
    sets: { active: { ...bytes, der: Buffer.from('stored'), not_before: now, not_after: now }, revoked: revocation },
  }),
];

function lifecycleCase<T extends StatefulTable>(
  table: T,
  lifecycle: Lifecycle<Tables[T]['state']>,
  move: (
    on: Db,
    id: string,
    to: Tables[T]['state'],
    options: { readonly set?: Omit<Updateable<Tables[T]>, 'state'> },
  ) => Promise<Moved>,
  { has, sets }: Details<T>,
): Case {
  const known = (text: string): Tables[T]['state'] => {
    const state = statesOf(lifecycle).find((each) => each === text);
    if (state === undefined) throw new Error(`${table} has no state ${text}`);
    return state;
  };
  return {
    table,
    states: statesOf(lifecycle),
    allows: (from, to) => lifecycle[known(from)].includes(known(to)),
    begin: async (from) => {
      const [rows, id] = [exampleRows(), newUuid(now)];
      const row = { ...rows[table], ...has[known(from)], id, state: from };
      await insertRows(db, { ...rows, [table]: row }, [...parents(table), table]);
      return id;
    },
    move: (id, to) => {
      const set: Omit<Updateable<Tables[T]>, 'state'> | undefined = sets[known(to)];
      return move(db, id, known(to), set === undefined ? {} : { set });
    },
  };
}

function parents(table: StatefulTable): readonly (keyof Tables)[] {
  if (table === 'signing_certs') return [];
  if (table === 'acme_keys') return ['signing_certs', 'directories'];
  const account = ['signing_certs', 'directories', 'acme_keys'] as const;
  return table === 'challenges' ? [...account, 'authorizations'] : account;
}

async function stateOf(table: string, id: string): Promise<string | undefined> {
  const { rows } = await sql<{ state: string }>`select state from ${sql.table(table)} where id = ${id}`.execute(db);
  return rows[0]?.state;
}

describe.each(cases)('$table', ({ table, states, allows, begin, move }) => {
  const pairs = states.flatMap((from) =>
    states.map((to) => ({ from, to, verb: allows(from, to) ? 'may' : 'may not' })),
  );

  test.each(pairs)('$from $verb become $to', async ({ from, to }) => {
    const id = await begin(from);
    expect(await move(id, to)).toEqual(allows(from, to) ? { id } : undefined);
    expect(await stateOf(table, id)).toBe(allows(from, to) ? to : from);
  });

  test('a state that the lifecycle does not know is refused by the database', async () => {
    const id = await begin(states[0] ?? '');
    const attempt = sql`update ${sql.table(table)} set state = 'lost' where id = ${id}`.execute(db);
    await expect(attempt).rejects.toMatchObject({ code: '23514' });
  });

  test('an id that is not there moves nothing', async () => {
    expect(await move(newUuid(now), states.at(-1) ?? '')).toBeUndefined();
  });
});

test('`from` allows fewer sources than the lifecycle, never more', async () => {
  const order = exampleRows();
  await insertRows(db, { ...order, orders: { ...order.orders, state: 'ready' } }, [...parents('orders'), 'orders']);
  const { id } = order.orders;
  expect(await moveOrder(db, id, 'invalid', { from: ['pending'] })).toBeUndefined();
  expect(await moveOrder(db, id, 'valid', { from: ['ready'] })).toBeUndefined();
  expect(await moveOrder(db, id, 'invalid', { from: ['pending', 'ready'] })).toEqual({ id });
});

test('a move writes what it was given and returns the columns asked for', async () => {
  const rows = exampleRows();
  await insertRows(db, rows, [...parents('orders'), 'orders']);
  const error = { type: 'unauthorized', detail: 'cancelled' };
  const moved = await moveOrder(db, rows.orders.id, 'invalid', {
    set: { error: JSON.stringify(error) },
    returning: ['state', 'error', 'created_at'],
  });
  expect(moved).toEqual({ id: rows.orders.id, state: 'invalid', error, created_at: now });
});

test('of many that move one row at once, one does', async () => {
  const rows = exampleRows();
  await insertRows(db, rows, [...parents('acme_keys'), 'acme_keys']);
  const moves = Array.from({ length: 20 }, (_, turn) =>
    moveAcmeKey(db, rows.acme_keys.id, turn % 2 ? 'revoked' : 'deactivated'),
  );
  const moved = await Promise.all(moves);
  expect(moved.filter((row) => row !== undefined)).toEqual([{ id: rows.acme_keys.id }]);
});
