// What other doors change of rows of custom resources is told, so that the operator looks at their objects.
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { deactivateAccount } from '../../src/core/deactivate-account.ts';
import { applyAcmeKey } from '../../src/core/declared-acme-key.ts';
import { applyExternalBinding } from '../../src/core/declared-external-binding.ts';
import { deleteDirectory } from '../../src/core/delete-directory.ts';
import { changeAccountKey } from '../../src/core/key-change.ts';
import { onOwnedChanges } from '../../src/core/owned-changes.ts';
import { revokeAcmeKey } from '../../src/core/revoke-acme-key.ts';
import { updateAccount } from '../../src/core/update-account.ts';
import type { ResourceKey } from '../../src/resources/resource.ts';
import { eventually } from '../support/eventually.ts';
import { givenCa } from '../support/given.ts';
import { anAccountKey, aPublicKey, givenAcmeKey, spendToken } from '../support/given-acme-key.ts';
import { acmeAccount, acmeDirectory } from '../support/given-client.ts';
import { givenDirectory } from '../support/given-directory.ts';

async function givenListener() {
  await using scope = new AsyncDisposableStack();
  const given = scope.use(await givenCa());
  const { ca } = given;
  const told: ResourceKey[] = [];
  let begun = 0;
  scope.use(onOwnedChanges(ca, { changed: (object) => void told.push(object), listening: () => void begun++ }));
  await eventually('it listens', () => begun === 1);
  const directory = await givenDirectory(ca);
  /** The names that the work has told of; a last one that is sent for this says that all have come. */
  const tellsOf = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
    told.length = 0;
    await work();
    await sql`select pg_notify('acmery_owned', '{"kind":"directory","namespace":"last","name":"one"}')`.execute(
      ca.database.db,
    );
    await eventually('all is told', () => told.some(({ namespace }) => namespace === 'last'));
    return told
      .filter(({ namespace }) => namespace !== 'last')
      .map((one) => `${one.kind} ${one.namespace}/${one.name}`);
  };
  const aBinding = async (name: string) => {
    const declared = { namespace: 'shop', name, uid: randomUUID(), generation: 1 };
    const wanted = { key_id: name, isKeyIdGiven: true, name, order_validations: 'challenge', isNew: true } as const;
    return (await applyExternalBinding(ca, declared, { ...wanted, directory_id: directory.id })).view;
  };
  const anAccount = async (name: string) => {
    const declared = { namespace: 'edge', name, uid: randomUUID(), generation: 1 };
    const wanted = { directory_id: directory.id, name, contacts: [], order_validations: 'challenge' } as const;
    return (await applyAcmeKey(ca, declared, { ...wanted, publicKey: { given: await aPublicKey() } })).view;
  };
  const opened = scope.move();
  return { ...given, directory, tellsOf, aBinding, anAccount, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

test('a token that is used, and the end of its account', async () => {
  await using given = await givenListener();
  const { ca, caller, directory, tellsOf, aBinding } = given;
  const [one, other] = [await aBinding('one'), await aBinding('other')];
  const spend = (id: string) => spendToken(ca, { id, directoryId: directory.id });
  const accounts: string[] = [];
  expect(await tellsOf(async () => accounts.push((await spend(one.id)).id))).toEqual(['ExternalBinding shop/one']);
  expect(await tellsOf(async () => accounts.push((await spend(other.id)).id))).toEqual(['ExternalBinding shop/other']);
  const [first = '', second = ''] = accounts;
  expect(await tellsOf(() => revokeAcmeKey(ca, caller, first))).toEqual(['ExternalBinding shop/one']);
  expect(await tellsOf(async () => deactivateAccount(ca, await acmeAccount(ca, second), 'request-1'))).toEqual([
    'ExternalBinding shop/other',
  ]);
});

test('a client that changes its contacts or its key, or deactivates the account', async () => {
  await using given = await givenListener();
  const { ca, directory, tellsOf, anAccount } = given;
  const { id } = await anAccount('proxy');
  const now = () => acmeAccount(ca, id);
  const expected = ['AcmeKey edge/proxy'];
  expect(await tellsOf(async () => updateAccount(ca, await now(), ['mailto:a@corp.example'], 'request-1'))).toEqual(
    expected,
  );
  const changeKey = async () => {
    const account = await now();
    const change = { account, key: await anAccountKey(), oldThumbprint: account.thumbprint, requestId: 'request-1' };
    await changeAccountKey(ca, { ...change, directory: await acmeDirectory(ca, directory) });
  };
  expect(await tellsOf(changeKey)).toEqual(expected);
  expect(await tellsOf(async () => deactivateAccount(ca, await now(), 'request-1'))).toEqual(expected);
});

test('a directory that takes its unused tokens along', async () => {
  await using given = await givenListener();
  const { ca, caller, directory, tellsOf, aBinding } = given;
  await aBinding('one');
  await aBinding('other');
  expect((await tellsOf(() => deleteDirectory(ca, caller, directory.id))).toSorted()).toEqual([
    'ExternalBinding shop/one',
    'ExternalBinding shop/other',
  ]);
});

test('nothing is told of rows that no custom resource declares, nor of what nobody here has sent', async () => {
  await using given = await givenListener();
  const { ca, caller, directory, tellsOf } = given;
  const account = await givenAcmeKey(ca, directory);
  expect(await tellsOf(() => revokeAcmeKey(ca, caller, account.id))).toEqual([]);
  const send = (payload: string) => sql`select pg_notify('acmery_owned', ${payload})`.execute(ca.database.db);
  for (const payload of [
    '',
    'no JSON',
    '[]',
    'null',
    '{"kind":"order","namespace":"a","name":"b"}',
    '{"kind":"directory"}',
  ])
    expect(await tellsOf(() => send(payload))).toEqual([]);
});
