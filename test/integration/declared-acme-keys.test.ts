// Account keys of custom resources in the core: what is declared, what their ACME clients change, and how they end.
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Ca } from '../../src/core/ca.ts';
import { deactivateAccount } from '../../src/core/deactivate-account.ts';
import type { Declared } from '../../src/core/declared.ts';
import { applyAcmeKey, type DeclaredAcmeKey } from '../../src/core/declared-acme-key.ts';
import { releaseAcmeKey } from '../../src/core/forget-acme-key.ts';
import { formatId } from '../../src/core/ids.ts';
import { changeAccountKey } from '../../src/core/key-change.ts';
import { revokeAcmeKey } from '../../src/core/revoke-acme-key.ts';
import { updateAccount } from '../../src/core/update-account.ts';
import { givenCa } from '../support/given.ts';
import { anAccountKey, aPublicKey, givenAcmeKey } from '../support/given-acme-key.ts';
import { acmeAccount, acmeDirectory } from '../support/given-client.ts';
import { givenDirectory } from '../support/given-directory.ts';

const declaration = (changes: Partial<Declared> = {}): Declared => ({
  namespace: 'edge',
  name: 'proxy',
  uid: randomUUID(),
  generation: 1,
  ...changes,
});

const spec = async (
  directory: { readonly id: string },
  changes: Partial<DeclaredAcmeKey> = {},
): Promise<DeclaredAcmeKey> => ({
  directory_id: directory.id,
  name: 'proxy',
  contacts: ['mailto:edge@corp.example'],
  order_validations: 'challenge',
  publicKey: { given: await aPublicKey() },
  ...changes,
});

const rowsOf = (ca: Ca) => ca.database.db.selectFrom('acme_keys').selectAll().orderBy('id').execute();

test('a key is registered once, and the second time nothing is written', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const declared = declaration();
  const wanted = await spec(await givenDirectory(ca));

  const first = await applyAcmeKey(ca, declared, wanted);
  const before = await rowsOf(ca);
  const second = await applyAcmeKey(ca, declared, wanted);

  expect([first.as, second.as]).toEqual(['created', 'unchanged']);
  expect(second.view).toEqual(first.view);
  expect(first.view).toMatchObject({ state: 'valid', publicKey: pemOf(wanted), contacts: wanted.contacts });
  expect(await rowsOf(ca)).toEqual(before);
  expect(before).toMatchObject([{ origin: 'kubernetes', origin_namespace: 'edge', origin_name: 'proxy' }]);
  const [record] = await ca.database.db.selectFrom('audit').selectAll().where('object_kind', '=', 'acme_key').execute();
  expect(record).toMatchObject({ actor_kind: 'custom_resource', actor: 'edge/proxy', action: 'create' });
});

test('of several appliers at once one registers, and all see it', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const declared = declaration();
  const wanted = await spec(await givenDirectory(ca));
  const applied = await Promise.all(Array.from({ length: 6 }, () => applyAcmeKey(ca, declared, wanted)));
  expect(applied.filter(({ as }) => as === 'created')).toHaveLength(1);
  expect(new Set(applied.map(({ view }) => view.id)).size).toBe(1);
  expect(await rowsOf(ca)).toHaveLength(1);
});

test('a key is made only where an account is to be registered', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const declared = declaration();
  let made = 0;
  const make = () => {
    made++;
    return aPublicKey();
  };
  const wanted = await spec(await givenDirectory(ca), { publicKey: { make } });
  expect((await applyAcmeKey(ca, declared, wanted)).as).toBe('created');
  expect((await applyAcmeKey(ca, declared, wanted)).as).toBe('unchanged');
  expect((await applyAcmeKey(ca, declaration(), wanted)).as).toBe('adopted');
  expect(made).toBe(1);
});

test('name, contacts and validation follow the spec, and drift is repaired', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const declared = declaration();
  const wanted = await spec(await givenDirectory(ca));
  await applyAcmeKey(ca, declared, wanted);

  const changed = { ...wanted, name: 'Proxy', contacts: [], order_validations: 'auto_approve' as const };
  const applied = await applyAcmeKey(ca, { ...declared, generation: 2 }, changed);
  expect([applied.as, applied.view]).toMatchObject([
    'updated',
    { name: 'Proxy', contacts: [], orderValidations: 'auto_approve' },
  ]);
  await ca.database.db.updateTable('acme_keys').set({ name: 'drifted' }).execute();
  expect((await applyAcmeKey(ca, { ...declared, generation: 2 }, changed)).as).toBe('updated');
  expect((await applyAcmeKey(ca, { ...declared, generation: 3 }, changed)).as).toBe('unchanged');
  const rows = await rowsOf(ca);
  expect(rows).toMatchObject([{ name: 'Proxy', origin_generation: 3, version: 4 }]);

  await expect(applyAcmeKey(ca, { ...declared, generation: 2 }, wanted)).rejects.toMatchObject({ kind: 'conflict' });
  const late = { ...declared, generation: 2 };
  await expect(releaseAcmeKey(ca, late, { isRetained: false })).rejects.toMatchObject({ kind: 'conflict' });
  expect(await rowsOf(ca)).toEqual(rows);
});

test('what the client changes wins until it is declared anew', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const declared = declaration();
  const directory = await givenDirectory(ca);
  const wanted = await spec(directory);
  const { view } = await applyAcmeKey(ca, declared, wanted);

  await updateAccount(ca, await acmeAccount(ca, view.id), ['mailto:client@corp.example'], 'request-1');
  const account = await acmeAccount(ca, view.id);
  const key = await anAccountKey();
  await changeAccountKey(ca, {
    directory: await acmeDirectory(ca, directory),
    account,
    key,
    oldThumbprint: account.thumbprint,
    requestId: 'request-2',
  });

  const renamed = await applyAcmeKey(ca, { ...declared, generation: 2 }, { ...wanted, name: 'Proxy' });
  expect(renamed.view).toMatchObject({
    name: 'Proxy',
    contacts: ['mailto:client@corp.example'],
    thumbprint: key.thumbprint.toString('base64url'),
  });
  const restored = declaration();
  expect((await applyAcmeKey(ca, restored, wanted)).as).toBe('adopted');
  const anew = { ...wanted, contacts: ['mailto:new@corp.example'] };
  expect((await applyAcmeKey(ca, { ...restored, generation: 2 }, anew)).view.contacts).toEqual(anew.contacts);
});

test('a client that deactivates its account wins, too', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const declared = declaration();
  const wanted = await spec(await givenDirectory(ca));
  const { view } = await applyAcmeKey(ca, declared, wanted);
  await deactivateAccount(ca, await acmeAccount(ca, view.id), 'request-1');
  const applied = await applyAcmeKey(ca, { ...declared, generation: 2 }, { ...wanted, name: 'Proxy' });
  expect([applied.as, applied.view.state, applied.view.name]).toEqual(['unchanged', 'deactivated', 'proxy']);
});

test('a key that is or was that of an account is refused, and what is no key', async () => {
  await using given = await givenCa();
  const { ca, caller } = given;
  const directory = await givenDirectory(ca);
  const elsewhere = await givenAcmeKey(ca, await givenDirectory(ca));
  const refusal = async (pem: string) =>
    applyAcmeKey(ca, declaration(), await spec(directory, { publicKey: { given: pem } })).catch(({ kind }) => kind);
  expect(await refusal(elsewhere.publicKey)).toBe('key_reused');
  await revokeAcmeKey(ca, caller, elsewhere.id);
  expect(await refusal(elsewhere.publicKey)).toBe('key_invalidated');
  expect(await refusal('no key')).toBe('invalid');
});

test('an account of /v1 is taken over only where the annotation names it', async () => {
  await using given = await givenCa();
  const { ca, caller } = given;
  const directory = await givenDirectory(ca);
  const account = await givenAcmeKey(ca, directory);
  const id = formatId('acmk', account.id);
  const wanted = await spec(directory, { publicKey: { given: account.publicKey } });
  await expect(applyAcmeKey(ca, declaration(), wanted)).rejects.toMatchObject({
    kind: 'already_exists',
    message: expect.not.stringContaining(id),
  });

  const declared = declaration({ adopt: id });
  const adopted = await applyAcmeKey(ca, declared, wanted);
  expect([adopted.as, adopted.view.id, adopted.view.contacts]).toEqual(['adopted', account.id, wanted.contacts]);
  await expect(revokeAcmeKey(ca, caller, account.id)).rejects.toMatchObject({ kind: 'managed_by_kubernetes' });
  const other = await spec(directory);
  const thief = declaration({ name: 'thief', adopt: id });
  await expect(applyAcmeKey(ca, thief, other)).rejects.toMatchObject({ kind: 'already_exists' });
});

test('an object of another uid takes the account over where directory and key are the same', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const directory = await givenDirectory(ca);
  const wanted = await spec(directory);
  const old = declaration({ generation: 5 });
  const { view } = await applyAcmeKey(ca, old, wanted);

  const restored = declaration();
  const adopted = await applyAcmeKey(ca, restored, wanted);
  expect([adopted.as, adopted.view.id]).toEqual(['adopted', view.id]);
  await releaseAcmeKey(ca, old, { isRetained: false });
  expect(await rowsOf(ca)).toMatchObject([{ state: 'valid', origin_uid: restored.uid, origin_generation: 1 }]);
  await expect(applyAcmeKey(ca, declaration(), await spec(directory))).rejects.toMatchObject({
    kind: 'already_exists',
    message: expect.stringContaining('publicKey'),
  });
  const moved = { ...wanted, directory_id: (await givenDirectory(ca)).id };
  await expect(applyAcmeKey(ca, restored, moved)).rejects.toMatchObject({ kind: 'immutable' });
});

test('with its object an account is revoked; its key never comes back, another one does', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const directory = await givenDirectory(ca);
  const wanted = await spec(directory);
  const declared = declaration();
  const { view } = await applyAcmeKey(ca, declared, wanted);
  for (const _ of [1, 2]) await releaseAcmeKey(ca, declared, { isRetained: false });
  expect(await rowsOf(ca)).toMatchObject([{ id: view.id, state: 'revoked' }]);

  await expect(applyAcmeKey(ca, declaration(), wanted)).rejects.toMatchObject({ kind: 'key_invalidated' });
  expect((await applyAcmeKey(ca, declaration(), await spec(directory))).as).toBe('created');
});

test('a retained account lives on, can be changed through /v1, and is taken back', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const wanted = await spec(await givenDirectory(ca));
  const declared = declaration();
  const { view } = await applyAcmeKey(ca, declared, wanted);
  for (const _ of [1, 2]) await releaseAcmeKey(ca, declared, { isRetained: true });
  expect(await rowsOf(ca)).toMatchObject([{ state: 'valid', deleted_at: null }]);
  const again = await applyAcmeKey(ca, declaration(), wanted);
  expect([again.as, again.view.id]).toEqual(['adopted', view.id]);
});

const pemOf = ({ publicKey }: DeclaredAcmeKey): string => ('given' in publicKey ? publicKey.given : '');
