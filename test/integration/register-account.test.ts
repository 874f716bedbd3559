// Registering account keys: what an EAB token gives, what is refused, and many at once on real Postgres.
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readAccountKey } from '../../src/core/account-key.ts';
import { deleteDirectory } from '../../src/core/delete-directory.ts';
import { formatId, newUuid } from '../../src/core/ids.ts';
import { registerNewKey } from '../../src/core/register-account.ts';
import { revokeAcmeKey } from '../../src/core/revoke-acme-key.ts';
import { openDatabase } from '../../src/store/database.ts';
import { testCa } from '../support/ca.ts';
import { eventually } from '../support/eventually.ts';
import { admin } from '../support/given.ts';
import { anAccountKey, aPublicKey, givenAcmeKey, spendToken } from '../support/given-acme-key.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenExternalBinding } from '../support/given-external-binding.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';
import { exampleRows, insertRows } from '../support/rows.ts';

const MANY = 50;

let world: Awaited<ReturnType<typeof testCa>>;
let issuer: { readonly id: string };
let directory: { readonly id: string };
beforeAll(async () => {
  world = await testCa();
  issuer = await givenIntermediate(world.ca);
});
beforeEach(async () => {
  directory = await givenDirectory(world.ca, { issuer });
});
afterAll(() => world[Symbol.asyncDispose]());

const given = (wanted = {}) => givenExternalBinding(world.ca, directory, wanted);
const accounts = () =>
  world.ca.database.db.selectFrom('acme_keys').selectAll().where('directory_id', '=', directory.id).execute();
const kindsOf = (outcomes: readonly PromiseSettledResult<unknown>[]) =>
  Object.entries(
    Object.groupBy(outcomes, (outcome) => (outcome.status === 'fulfilled' ? 'done' : (outcome.reason.kind ?? 'bug'))),
  ).map(([kind, those = []]) => [kind, those.length]);

test('EAB-7: an account made with a token has its name, its validations, and is tied to it', async () => {
  const token = await given({ name: 'shop', order_validations: 'auto_approve' });
  const key = await anAccountKey();
  const { id } = await spendToken(world.ca, token, key);

  const [account] = await accounts();
  expect(account).toMatchObject({
    id,
    state: 'valid',
    origin: 'acme',
    external_binding_id: token.id,
    eab_jws: '{"protected":"e30"}',
    name: 'shop',
    order_validations: 'auto_approve',
    contacts: ['mailto:shop@corp.example'],
    thumbprint: key.thumbprint,
    spki: key.spki,
    jwk: key.jwk,
    used_on: null,
    terms_agreed: null,
  });
  const { db } = world.ca.database;
  expect(
    await db
      .selectFrom('external_bindings')
      .select(['acme_key_id', 'used_at', 'version'])
      .where('id', '=', token.id)
      .execute(),
  ).toEqual([{ acme_key_id: id, used_at: world.ca.clock.now(), version: 2 }]);
  expect(await db.selectFrom('used_keys').selectAll().where('acme_key_id', '=', id).execute()).toEqual([
    { thumbprint: key.thumbprint, why: 'account', since: world.ca.clock.now(), acme_key_id: id },
  ]);
  const records = await db
    .selectFrom('audit')
    .select(['action', 'actor_kind', 'object_kind'])
    .where('object_id', 'in', [id, token.id])
    .orderBy('object_kind')
    .orderBy('action')
    .execute();
  expect(records).toEqual([
    { action: 'create', actor_kind: 'acme_key', object_kind: 'acme_key' },
    { action: 'create', actor_kind: 'bootstrap', object_kind: 'external_binding' },
    { action: 'use', actor_kind: 'acme_key', object_kind: 'external_binding' },
  ]);
});

describe('many at once', () => {
  test('with one token: one account, and the others are told that it is used', async () => {
    const token = await given();
    const keys = await Promise.all(Array.from({ length: MANY }, () => anAccountKey()));
    const outcomes = await Promise.allSettled(keys.map((key) => spendToken(world.ca, token, key)));
    expect(kindsOf(outcomes)).toEqual(
      expect.arrayContaining([
        ['done', 1],
        ['token_used', MANY - 1],
      ]),
    );
    expect(await accounts()).toHaveLength(1);
    // The keys of the others are free still.
    const { rows } = await sql`
      select from used_keys where thumbprint = any(${keys.map(({ thumbprint }) => thumbprint)}::bytea[])`.execute(
      world.ca.database.db,
    );
    expect(rows).toHaveLength(1);
  });

  test('with one key and a token each: one account, and one token is spent', async () => {
    const tokens = await Promise.all(Array.from({ length: MANY }, () => given()));
    const key = await anAccountKey();
    const outcomes = await Promise.allSettled(tokens.map((token) => spendToken(world.ca, token, key)));
    expect(kindsOf(outcomes)).toEqual(
      expect.arrayContaining([
        ['done', 1],
        ['key_reused', MANY - 1],
      ]),
    );
    const { rows } = await sql`
      select from external_bindings where directory_id = ${directory.id} and acme_key_id is not null`.execute(
      world.ca.database.db,
    );
    expect(rows).toHaveLength(1);
    expect(await accounts()).toHaveLength(1);
  });

  test('ACC-18: with one key and one token: one account', async () => {
    const [token, key] = [await given(), await anAccountKey()];
    const outcomes = await Promise.allSettled(Array.from({ length: MANY }, () => spendToken(world.ca, token, key)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const [kind] of kindsOf(outcomes)) expect(['done', 'key_reused', 'token_used']).toContain(kind);
    expect(await accounts()).toHaveLength(1);
  });

  test('of one key by /v1: one account', async () => {
    const public_key = await aPublicKey();
    const outcomes = await Promise.allSettled(
      Array.from({ length: MANY }, () => givenAcmeKey(world.ca, directory, { public_key })),
    );
    expect(kindsOf(outcomes)).toEqual(
      expect.arrayContaining([
        ['done', 1],
        ['key_reused', MANY - 1],
      ]),
    );
    expect(await accounts()).toHaveLength(1);
  });
});

test('one of several that go together is refused: the others are registered all the same', async () => {
  const { db } = world.ca.database;
  const being = await anAccountKey();
  const rows = exampleRows();
  const processing = {
    ...rows.orders,
    state: 'processing' as const,
    key_thumbprint: being.thumbprint,
    due_at: new Date(0),
  };
  const reserved = {
    signing_cert_id: rows.signing_certs.id,
    issued_cert_id: newUuid(new Date(0)),
    serial: Buffer.alloc(1),
  };
  const orders = { ...processing, ...reserved, tbs: Buffer.alloc(1), csr_sha256: Buffer.alloc(32), error: null };
  await insertRows(db, { ...rows, orders }, ['signing_certs', 'directories', 'acme_keys', 'orders']);
  const tokens = await Promise.all(Array.from({ length: 5 }, () => given()));
  const outcomes = await Promise.allSettled(
    tokens.map((token, index) => spendToken(world.ca, token, index === 2 ? being : undefined)),
  );
  expect(outcomes.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
  ]);
  expect(outcomes[2]).toMatchObject({ reason: { constraint: 'used_keys_not_of_certificate' } });
  expect(await accounts()).toHaveLength(4);
});

test('on two replicas at once with the same tokens: one account of each', async () => {
  const tokens = await Promise.all(Array.from({ length: MANY }, () => given()));
  await using other = openDatabase({ url: world.databaseUrl });
  const replicas = [world.ca, { ...world.ca, database: other }];
  const outcomes = await Promise.allSettled(replicas.flatMap((ca) => tokens.map((token) => spendToken(ca, token))));
  expect(kindsOf(outcomes)).toEqual(
    expect.arrayContaining([
      ['done', MANY],
      ['token_used', MANY],
    ]),
  );
  expect(await accounts()).toHaveLength(MANY);
});

test('a token that is changed between being read and being spent gives what it says by then', async () => {
  const token = await given({ name: 'till' });
  const id = newUuid(world.ca.clock.now());
  const actor = { kind: 'acme_key', name: formatId('acmk', id) } as const;
  const account = await registerNewKey(world.ca, actor, {
    id,
    directoryId: directory.id,
    key: await anAccountKey(),
    contacts: [],
    origin: 'acme',
    sponsor: { token: { id: token.id, name: 'shop', order_validations: 'auto_approve' }, jws: '{}' },
  });
  expect(account).toMatchObject({ id, name: 'till', order_validations: 'challenge' });
  const records = await world.ca.database.db
    .selectFrom('audit')
    .select('detail')
    .where('object_id', '=', id)
    .where('action', '=', 'create')
    .execute();
  expect(records).toMatchObject([{ detail: { after: { name: 'till', order_validations: 'challenge' } } }]);
});

describe('refused', () => {
  test('a token of another directory, one that is deleted, and none at all, are unknown', async () => {
    const token = await given();
    const other = await givenDirectory(world.ca, { issuer });
    const deleted = await given();
    await sql`update external_bindings set deleted_at = now() where id = ${deleted.id}`.execute(world.ca.database.db);
    for (const attempt of [{ ...token, directoryId: other.id }, deleted, { ...token, id: other.id }]) {
      await expect(spendToken(world.ca, attempt)).rejects.toMatchObject({ kind: 'not_found' });
    }
    expect(await accounts()).toEqual([]);
  });

  test('a directory that is deleted, with a token and without', async () => {
    const token = await given();
    await deleteDirectory(world.ca, admin, directory.id);
    await expect(spendToken(world.ca, token)).rejects.toMatchObject({ kind: 'not_found' });
    await expect(givenAcmeKey(world.ca, directory)).rejects.toMatchObject({ kind: 'unknown_reference' });
  });

  test('a directory that is being deleted: the one who deletes it is waited for', async () => {
    const { db } = world.ca.database;
    let attempt: Promise<unknown> | undefined;
    await db.transaction().execute(async (tx) => {
      await sql`update directories set deleted_at = now() where id = ${directory.id}`.execute(tx);
      attempt = givenAcmeKey(world.ca, directory).catch((error: unknown) => error);
      await eventually('the registration waits', async () => {
        const { rows } = await sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
        return rows.length > 0;
      });
    });
    expect(await attempt).toMatchObject({ kind: 'unknown_reference' });
  });

  test('a token that is used says by whom', async () => {
    const token = await given();
    await spendToken(world.ca, token);
    await expect(spendToken(world.ca, token)).rejects.toMatchObject({
      kind: 'token_used',
      message: expect.stringContaining('acmk_'),
    });
  });

  test('a key that is, or was, that of an account in any directory; its token stays unused', async () => {
    const token = await given();
    const public_key = await aPublicKey();
    const key = readAccountKey(public_key);
    const elsewhere = await givenDirectory(world.ca, { issuer });
    const account = await givenAcmeKey(world.ca, elsewhere, { public_key });
    for (const kind of ['key_reused', 'key_invalidated']) {
      await expect(givenAcmeKey(world.ca, directory, { public_key })).rejects.toMatchObject({ kind });
      await expect(spendToken(world.ca, token, key)).rejects.toMatchObject({ kind });
      if (kind === 'key_reused') await revokeAcmeKey(world.ca, admin, account.id);
    }
    await expect(spendToken(world.ca, token)).resolves.toBeDefined();
  });

  test('REV-8, KEY-7: a key that is blocked, or that has a certificate', async () => {
    const { db } = world.ca.database;
    const [blocked, leaf] = [await anAccountKey(), await anAccountKey()];
    await db
      .insertInto('used_keys')
      .values({ thumbprint: blocked.thumbprint, why: 'compromised', since: new Date(0) })
      .execute();
    const rows = exampleRows();
    const issued_certs = { ...rows.issued_certs, key_thumbprint: leaf.thumbprint };
    await insertRows(db, { ...rows, issued_certs }, ['signing_certs', 'directories', 'acme_keys', 'issued_certs']);
    const token = await given();
    await expect(spendToken(world.ca, token, blocked)).rejects.toMatchObject({ kind: 'key_invalidated' });
    await expect(spendToken(world.ca, token, leaf)).rejects.toMatchObject({ kind: 'key_reused' });
  });
});

test('the custom resource of a spent token is visited', async () => {
  const { ca } = world;
  const [own, declared] = [await given(), await given()];
  await sql`
    update external_bindings set origin = 'kubernetes', origin_namespace = 'shop', origin_name = 'till',
           origin_uid = 'u1', origin_generation = 1 where id = ${declared.id}`.execute(ca.database.db);
  const heard: unknown[] = [];
  await using listener = ca.database.listen({ acmery_owned: (payload) => heard.push(JSON.parse(payload)) });
  await eventually('we listen', () => listener.isListening);
  await spendToken(ca, own);
  await spendToken(ca, declared);
  await eventually('the operator is told', () => heard.length > 0);
  expect(heard).toEqual([{ kind: 'external_binding', namespace: 'shop', name: 'till' }]);
});
