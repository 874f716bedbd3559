// keyChange in the core, on real Postgres: what is withdrawn, what goes on, what is refused, and two at once.
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { AccountKey } from '../../src/core/account-key.ts';
import type { AcmeAccount, AcmeDirectory } from '../../src/core/acme-requests.ts';
import { formatId } from '../../src/core/ids.ts';
import { changeAccountKey } from '../../src/core/key-change.ts';
import { revokeAcmeKey } from '../../src/core/revoke-acme-key.ts';
import { updateAccount } from '../../src/core/update-account.ts';
import { testCa } from '../support/ca.ts';
import { duringChange } from '../support/during-change.ts';
import { eventually } from '../support/eventually.ts';
import { admin } from '../support/given.ts';
import { anAccountKey } from '../support/given-acme-key.ts';
import { acmeAccount, acmeDirectory, givenClient, registerClient } from '../support/given-client.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenIssuedCert } from '../support/given-issued-cert.ts';
import { givenOpenWork, openWorkOf } from '../support/given-open-work.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';

let world: Awaited<ReturnType<typeof testCa>>;
let issuer: { readonly id: string };
let directory: AcmeDirectory;
let account: AcmeAccount;
beforeAll(async () => {
  world = await testCa();
  issuer = await givenIntermediate(world.ca);
});
beforeEach(async () => {
  directory = await given();
  account = await givenClient(world.ca, directory);
});
afterAll(() => world[Symbol.asyncDispose]());

const given = async () =>
  acmeDirectory(world.ca, await givenDirectory(world.ca, { issuer, registration_mode: 'open' }));
const change = async (key: AccountKey, different: Partial<Parameters<typeof changeAccountKey>[1]> = {}) =>
  changeAccountKey(world.ca, {
    directory,
    account,
    key,
    oldThumbprint: account.thumbprint,
    requestId: 'request-1',
    ...different,
  });
const usesOf = async (...keys: readonly AccountKey['thumbprint'][]) => {
  const { db } = world.ca.database;
  const rows = await db.selectFrom('used_keys').selectAll().where('thumbprint', 'in', keys).execute();
  return keys.map((key) => rows.find(({ thumbprint }) => thumbprint.equals(key))?.why);
};

test('KEY-1: the account has the new key, the old one is withdrawn for ever, and the record names both', async () => {
  const { ca } = world;
  const key = await anAccountKey('ed25519');
  await change(key);

  const now = await acmeAccount(ca, account.id);
  expect(now).toMatchObject({ state: 'valid', thumbprint: key.thumbprint, spki: key.spki, jwk: key.jwk });
  expect(now.version).toBe(account.version + 1);
  expect(await usesOf(account.thumbprint, key.thumbprint)).toEqual(['invalidated', 'account']);
  const record = await ca.database.db
    .selectFrom('audit')
    .select(['action', 'actor', 'detail'])
    .where('object_id', '=', account.id)
    .where('action', '=', 'update')
    .execute();
  const shown = (thumbprint: Buffer) => ({ jwk_thumbprint: thumbprint.toString('base64url') });
  expect(record).toEqual([
    {
      action: 'update',
      actor: formatId('acmk', account.id),
      detail: { before: shown(account.thumbprint), after: shown(key.thumbprint) },
    },
  ]);
  await expect(
    registerClient(ca, directory, { key: { ...key, thumbprint: account.thumbprint } }),
  ).rejects.toMatchObject({
    type: 'unauthorized',
    message: expect.stringContaining('has another key now'),
  });
});

test('KEY-1, KEY-6: orders and authorizations stay, and a challenge keeps what it was answered with', async () => {
  const { ca } = world;
  const owner = { acme_key_id: account.id, directory_id: directory.id };
  await givenOpenWork(ca.database.db, owner, { signingCertId: issuer.id, now: ca.clock.now() });
  const answers = () =>
    sql`select key_authorization, account_url, c.state from challenges c join authorizations a on a.id = c.authorization_id
         where a.acme_key_id = ${account.id}`.execute(ca.database.db);
  const [work, { rows }] = [await openWorkOf(ca.database.db, account.id), await answers()];
  await change(await anAccountKey());
  expect(await openWorkOf(ca.database.db, account.id)).toEqual(work);
  expect((await answers()).rows).toEqual(rows);
});

describe('at once', () => {
  test('KEY-4: of two with different keys one is done, and the other is told that its old key is not the current one', async () => {
    for (let round = 0; round < 10; round++) {
      account = await givenClient(world.ca, directory);
      const keys = [await anAccountKey(), await anAccountKey()];
      const outcomes = await Promise.allSettled(keys.map((key) => change(key)));
      const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
      expect(refused).toEqual([expect.objectContaining({ type: 'malformed', status: 400 })]);
      const winner = keys[outcomes.findIndex(({ status }) => status === 'fulfilled')];
      expect((await acmeAccount(world.ca, account.id)).thumbprint).toEqual(winner?.thumbprint);
      // The key of the other is free still.
      const [loser] = keys.filter((key) => key !== winner);
      expect(await usesOf(loser?.thumbprint ?? Buffer.alloc(0))).toEqual([undefined]);
    }
  });

  test('KEY-4: the same one sent twice is done once', async () => {
    const key = await anAccountKey();
    const outcomes = await Promise.allSettled([change(key), change(key)]);
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    expect(refused).toEqual([expect.objectContaining({ type: 'malformed', status: 400 })]);
  });

  test('KEY-4: two accounts want one key: one has it, the other is told whose it is', async () => {
    const [other, key] = [await givenClient(world.ca, directory), await anAccountKey()];
    const outcomes = await Promise.allSettled([
      change(key),
      change(key, { account: other, oldThumbprint: other.thumbprint }),
    ]);
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    expect(refused).toEqual([expect.objectContaining({ type: 'malformed', status: 409 })]);
  });

  test('KEY-4: newAccount and keyChange with one key: there is one account of it', async () => {
    const key = await anAccountKey();
    await Promise.allSettled([change(key), registerClient(world.ca, directory, { key })]);
    const { rows } = await sql`select from acme_keys where thumbprint = ${key.thumbprint}`.execute(
      world.ca.database.db,
    );
    expect(rows).toHaveLength(1);
  });

  test('KEY-1: new contacts lose nothing', async () => {
    const [key, contacts] = [await anAccountKey(), ['mailto:ops@corp.example']];
    await duringChange(world.ca.database, 'acme_keys', account.id, () => change(key));
    await updateAccount(world.ca, await acmeAccount(world.ca, account.id), contacts, 'request-2');
    expect(await acmeAccount(world.ca, account.id)).toMatchObject({ thumbprint: key.thumbprint, contacts });
  });

  test('ACC-11: an account that is revoked meanwhile hears it', async () => {
    await revokeAcmeKey(world.ca, admin, account.id);
    const key = await anAccountKey();
    await expect(change(key)).rejects.toMatchObject({ type: 'unauthorized', status: 401 });
    expect(await usesOf(key.thumbprint)).toEqual([undefined]);
  });
});

describe('refused', () => {
  test('KEY-3: an old key that is not the current one', async () => {
    const { thumbprint } = await anAccountKey();
    await expect(change(await anAccountKey(), { oldThumbprint: thumbprint })).rejects.toMatchObject({
      type: 'malformed',
      status: 400,
    });
  });

  test('KEY-5: the key that it has', async () => {
    const { thumbprint, spki } = account;
    await expect(change({ thumbprint, spki, jwk: {} })).rejects.toMatchObject({ type: 'malformed', status: 400 });
  });

  test('KEY-4: the key of a valid account of this directory, with its Location', async () => {
    const other = await givenClient(world.ca, directory);
    await expect(change({ ...other, jwk: {} })).rejects.toMatchObject({
      type: 'malformed',
      status: 409,
      headers: {
        Location: `https://acme.corp.example/acme/${directory.slug}/account/${formatId('acmk', other.id)}`,
      },
    });
  });

  test('KEY-4: the key of another directory, and one that was withdrawn', async () => {
    const [elsewhere, ended] = [await givenClient(world.ca, await given()), await givenClient(world.ca, directory)];
    await revokeAcmeKey(world.ca, admin, ended.id);
    for (const other of [elsewhere, ended])
      await expect(change({ ...other, jwk: {} })).rejects.toMatchObject({
        type: 'unauthorized',
        status: 403,
        headers: {},
      });
  });

  test('KEY-7, REV-8: the key of a certificate, and one that is blocked', async () => {
    const { ca } = world;
    const [blocked, leaf] = [await anAccountKey(), await anAccountKey()];
    const since = ca.clock.now();
    await ca.database.db
      .insertInto('used_keys')
      .values({ thumbprint: blocked.thumbprint, why: 'compromised', since })
      .execute();
    const owner = { acmeKeyId: account.id, directoryId: directory.id, signingCertId: issuer.id };
    await givenIssuedCert(ca, owner, { spki: leaf.spki });
    for (const key of [blocked, leaf]) await expect(change(key)).rejects.toMatchObject({ type: 'badPublicKey' });
  });
});

test('the custom resource of an account is visited when its client changes it', async () => {
  const { ca } = world;
  await sql`
    update acme_keys set origin = 'kubernetes', origin_namespace = 'shop', origin_name = 'till', origin_uid = 'u1',
           origin_generation = 1 where id = ${account.id}`.execute(ca.database.db);
  const heard: unknown[] = [];
  await using listener = ca.database.listen({ acmery_owned: (payload) => heard.push(JSON.parse(payload)) });
  await eventually('we listen', () => listener.isListening);
  await change(await anAccountKey());
  await eventually('the operator is told', () => heard.length > 0);
  expect(heard).toEqual([{ kind: 'acme_key', namespace: 'shop', name: 'till' }]);
});
