// EAB tokens of custom resources in the core: one row for one object, whoever applies it and how often.
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Ca } from '../../src/core/ca.ts';
import type { Declared } from '../../src/core/declared.ts';
import { applyExternalBinding, type DeclaredBinding } from '../../src/core/declared-external-binding.ts';
import { deleteDirectory } from '../../src/core/delete-directory.ts';
import {
  externalBindingOwners,
  forgetExternalBinding,
  releaseExternalBinding,
} from '../../src/core/forget-external-binding.ts';
import { formatId } from '../../src/core/ids.ts';
import { updateExternalBinding } from '../../src/core/update-external-binding.ts';
import { givenCa } from '../support/given.ts';
import { spendToken } from '../support/given-acme-key.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenExternalBinding } from '../support/given-external-binding.ts';

const declaration = (changes: Partial<Declared> = {}): Declared => ({
  namespace: 'shop',
  name: 'till',
  uid: randomUUID(),
  generation: 1,
  ...changes,
});

const spec = (directory: { readonly id: string }, changes: Partial<DeclaredBinding> = {}): DeclaredBinding => ({
  directory_id: directory.id,
  key_id: 'shop.till',
  isKeyIdGiven: false,
  name: 'till',
  order_validations: 'challenge',
  isNew: false,
  ...changes,
});

const rowsOf = (ca: Ca) =>
  ca.database.db.selectFrom('external_bindings').selectAll().orderBy('created_at').orderBy('id').execute();
const livingOf = async (ca: Ca) => (await rowsOf(ca)).filter((row) => row.deleted_at === null);
const actionsOf = async (ca: Ca) =>
  (await ca.database.db.selectFrom('audit').select(['action', 'actor_kind', 'actor']).execute())
    .filter(({ actor_kind: kind }) => kind === 'custom_resource')
    .map(({ action, actor }) => `${action} ${actor}`)
    .toSorted();

test('a token is made once, with the record of it, and the second time nothing is written', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const directory = await givenDirectory(ca);
  const declared = declaration();

  const first = await applyExternalBinding(ca, declared, spec(directory, { isNew: true }));
  const before = await rowsOf(ca);
  const second = await applyExternalBinding(ca, declared, spec(directory));

  expect([first.as, second.as]).toEqual(['created', 'unchanged']);
  expect(second.view).toEqual(first.view);
  expect(first.view).toMatchObject({ keyId: 'shop.till', orderValidations: 'challenge', account: undefined });
  expect(first.view.macKey).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_-]{42}$/);
  expect(await rowsOf(ca)).toEqual(before);
  expect(await actionsOf(ca)).toEqual(['create shop/till']);
});

test('of many appliers at once one makes the row, and all see it', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const directory = await givenDirectory(ca);
  const declared = declaration();

  const applied = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      applyExternalBinding(ca, declared, spec(directory, { isNew: index % 2 === 0 })),
    ),
  );

  expect(applied.filter(({ as }) => as === 'created')).toHaveLength(1);
  expect(new Set(applied.map(({ view }) => view.macKey)).size).toBe(1);
  expect(await rowsOf(ca)).toHaveLength(1);
});

test('many objects are made together, each with its own key', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const directory = await givenDirectory(ca);

  const applied = await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      applyExternalBinding(
        ca,
        declaration({ name: `till-${index}` }),
        spec(directory, { isNew: true, key_id: `shop.till-${index}` }),
      ),
    ),
  );

  expect(applied.every(({ as }) => as === 'created')).toBe(true);
  expect(new Set(applied.map(({ view }) => view.macKey)).size).toBe(64);
  expect(applied.map(({ view }) => view.keyId)).toEqual(applied.map((_, index) => `shop.till-${index}`));
  expect((await actionsOf(ca)).length).toBe(64);
});

test('what differs of an unused token is repaired, and a later generation is noted even where nothing differs', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const directory = await givenDirectory(ca);
  const declared = declaration();
  await applyExternalBinding(ca, declared, spec(directory));

  const wanted = spec(directory, { name: 'Till 1', order_validations: 'auto_approve' });
  const changed = await applyExternalBinding(ca, { ...declared, generation: 2 }, wanted);
  expect([changed.as, changed.view.orderValidations]).toEqual(['updated', 'auto_approve']);

  await ca.database.db.updateTable('external_bindings').set({ name: 'drifted' }).execute();
  expect((await applyExternalBinding(ca, { ...declared, generation: 2 }, wanted)).as).toBe('updated');

  expect((await applyExternalBinding(ca, { ...declared, generation: 3 }, wanted)).as).toBe('unchanged');
  expect(await livingOf(ca)).toMatchObject([{ name: 'Till 1', origin_generation: 3 }]);
  expect(await actionsOf(ca)).toEqual(['create shop/till', 'update shop/till', 'update shop/till']);
});

test('an operator that was asleep changes nothing that a later generation has written', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const directory = await givenDirectory(ca);
  const declared = declaration();
  await applyExternalBinding(ca, declared, spec(directory));
  await applyExternalBinding(ca, { ...declared, generation: 4 }, spec(directory));
  const before = await rowsOf(ca);

  const late = { ...declared, generation: 3 };
  const wanted = spec(directory, { order_validations: 'auto_approve', renew: 'late' });
  await expect(applyExternalBinding(ca, late, wanted)).rejects.toMatchObject({
    kind: 'conflict',
    message: expect.stringContaining('Generation 4'),
  });
  await expect(applyExternalBinding(ca, late, spec(directory))).rejects.toMatchObject({ kind: 'conflict' });
  await expect(releaseExternalBinding(ca, late, { isRetained: false, revokesAccount: true })).rejects.toMatchObject({
    kind: 'conflict',
  });
  expect(await rowsOf(ca)).toEqual(before);
});

test('an object of another uid takes the row over where directory and key id are the same', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const directory = await givenDirectory(ca);
  const old = declaration({ generation: 7 });
  const made = await applyExternalBinding(ca, old, spec(directory));
  const account = await spendToken(ca, { id: made.view.id, directoryId: directory.id });

  const restored = declaration();
  const adopted = await applyExternalBinding(ca, restored, spec(directory, { isNew: true }));
  expect([adopted.as, adopted.view.macKey, adopted.view.account?.id]).toEqual([
    'adopted',
    made.view.macKey,
    account.id,
  ]);
  expect((await applyExternalBinding(ca, restored, spec(directory))).as).toBe('unchanged');
  await releaseExternalBinding(ca, old, { isRetained: false, revokesAccount: true });
  expect(await livingOf(ca)).toMatchObject([{ origin_uid: restored.uid, origin_generation: 1 }]);

  const other = spec(directory, { key_id: 'another', isKeyIdGiven: true });
  await expect(applyExternalBinding(ca, declaration(), other)).rejects.toMatchObject({
    kind: 'already_exists',
    message: expect.stringContaining('keyId'),
  });
  await expect(applyExternalBinding(ca, declaration(), spec(await givenDirectory(ca)))).rejects.toMatchObject({
    kind: 'already_exists',
    message: expect.stringContaining('directoryRef'),
  });
});

test('its own row never moves to another directory or key id', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const directory = await givenDirectory(ca);
  const declared = declaration();
  await applyExternalBinding(ca, declared, spec(directory));
  const elsewhere = spec(await givenDirectory(ca));
  await expect(applyExternalBinding(ca, declared, elsewhere)).rejects.toMatchObject({ kind: 'immutable' });
  const renamed = spec(directory, { key_id: 'another', isKeyIdGiven: true });
  await expect(applyExternalBinding(ca, declared, renamed)).rejects.toMatchObject({ kind: 'immutable' });
});

test('a key id that another has is refused, and the refusal names who has it', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const directory = await givenDirectory(ca);
  const declared = declaration();
  await applyExternalBinding(ca, declared, spec(directory));
  const rival = declaration({ namespace: 'other', name: 'desk' });
  const wanted = spec(directory, { isKeyIdGiven: true });
  for (const isNew of [true, false]) {
    await expect(applyExternalBinding(ca, rival, { ...wanted, isNew })).rejects.toMatchObject({
      kind: 'key_id_taken',
      message: expect.stringContaining('ExternalBinding shop/till'),
    });
  }

  await forgetExternalBinding(ca, declared);
  expect((await applyExternalBinding(ca, rival, wanted)).as).toBe('created');
});

test('a token of /v1 is taken over only where the annotation names it', async () => {
  await using given = await givenCa();
  const { ca, caller } = given;
  const directory = await givenDirectory(ca);
  const token = await givenExternalBinding(ca, directory, { key_id: 'shop.till' });
  const id = formatId('eab', token.id);
  await expect(applyExternalBinding(ca, declaration(), spec(directory))).rejects.toMatchObject({
    kind: 'already_exists',
    message: expect.not.stringContaining(id),
  });

  const declared = declaration({ adopt: id });
  const adopted = await applyExternalBinding(ca, declared, spec(directory, { isNew: true }));
  expect([adopted.as, adopted.view.id, adopted.view.macKey]).toEqual(['adopted', token.id, token.macKey]);
  await expect(updateExternalBinding(ca, caller, token.id, { name: 'mine' })).rejects.toMatchObject({
    kind: 'managed_by_kubernetes',
  });
  expect((await applyExternalBinding(ca, declared, spec(directory))).as).toBe('unchanged');

  const thief = declaration({ name: 'thief', adopt: id });
  const wanted = spec(directory, { key_id: 'shop.thief' });
  await expect(applyExternalBinding(ca, thief, wanted)).rejects.toMatchObject({ kind: 'already_exists' });
  await expect(applyExternalBinding(ca, { ...thief, adopt: 'acmk_1' }, wanted)).rejects.toMatchObject({
    kind: 'invalid',
  });
});

test('a new text of the annotation renew makes a new key under the same key id, once', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const directory = await givenDirectory(ca);
  const declared = declaration();
  const first = await applyExternalBinding(ca, declared, spec(directory, { renew: 'a', isNew: true }));
  expect((await applyExternalBinding(ca, declared, spec(directory, { renew: 'a' }))).as).toBe('unchanged');
  await spendToken(ca, { id: first.view.id, directoryId: directory.id });

  const wanted = spec(directory, { renew: 'b', order_validations: 'auto_approve' });
  const attempts = await Promise.allSettled(times(6, () => applyExternalBinding(ca, declared, wanted)));
  const refusals = attempts.filter((attempt) => attempt.status === 'rejected').map(({ reason }) => reason);
  expect(refusals.every(({ kind }) => kind === 'conflict')).toBe(true);
  const { as, view, kept } = await applyExternalBinding(ca, declared, wanted);
  expect([as, view.renewed, view.keyId, view.account, kept]).toEqual(['unchanged', 'b', 'shop.till', undefined, []]);
  expect(view.orderValidations).toBe('auto_approve');
  expect(view.macKey).not.toBe(first.view.macKey);
  expect(await rowsOf(ca)).toHaveLength(2);
  expect(await actionsOf(ca)).toEqual(['create shop/till', 'create shop/till', 'delete shop/till']);
});

test('a used token stays as it was used, and what is declared otherwise is told', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const directory = await givenDirectory(ca);
  const declared = declaration();
  const { view } = await applyExternalBinding(ca, declared, spec(directory));
  const account = await spendToken(ca, { id: view.id, directoryId: directory.id });

  const wanted = spec(directory, { name: 'Till 1', order_validations: 'auto_approve' });
  const applied = await applyExternalBinding(ca, { ...declared, generation: 2 }, wanted);
  expect(applied.as).toBe('unchanged');
  expect(applied.kept).toEqual(['name', 'order_validations']);
  expect(applied.view.account).toMatchObject({ id: account.id, state: 'valid' });
  expect(await livingOf(ca)).toMatchObject([{ name: 'till', order_validations: 'challenge', origin_generation: 2 }]);
});

test('deleting the directory deletes an unused token; another is made once there is a directory again', async () => {
  await using given = await givenCa();
  const { ca, caller } = given;
  const directory = await givenDirectory(ca);
  const declared = declaration();
  const { view } = await applyExternalBinding(ca, declared, spec(directory));

  await deleteDirectory(ca, caller, directory.id);
  await expect(applyExternalBinding(ca, declared, spec(directory))).rejects.toMatchObject({
    kind: 'unknown_reference',
  });
  await ca.database.db.updateTable('directories').set({ deleted_at: null }).execute();
  const again = await applyExternalBinding(ca, declared, spec(directory));
  expect(again.as).toBe('created');
  expect(again.view.id).not.toBe(view.id);
});

test('a used token of a deleted directory makes room for one of the directory that is declared now', async () => {
  await using given = await givenCa();
  const { ca, caller } = given;
  const directory = await givenDirectory(ca);
  const declared = declaration();
  const { view } = await applyExternalBinding(ca, declared, spec(directory));
  await spendToken(ca, { id: view.id, directoryId: directory.id });
  await deleteDirectory(ca, caller, directory.id);

  const other = await givenDirectory(ca);
  const applied = await applyExternalBinding(ca, declared, spec(other));
  expect([applied.as, applied.view.account]).toEqual(['replaced', undefined]);
  expect(await livingOf(ca)).toMatchObject([{ directory_id: other.id, acme_key_id: null }]);
});

test('with its object a token goes, used or not; its account lives on unless it is to be revoked', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const directory = await givenDirectory(ca);
  const stateOf = (id: string) =>
    ca.database.db.selectFrom('acme_keys').select('state').where('id', '=', id).executeTakeFirstOrThrow();
  const used = async (declared: Declared) => {
    const wanted = spec(directory, { key_id: declared.name });
    const { view } = await applyExternalBinding(ca, declared, wanted);
    return spendToken(ca, { id: view.id, directoryId: directory.id });
  };
  const [kept, revoked] = [declaration({ name: 'kept' }), declaration({ name: 'revoked' })];
  const [keptAccount, revokedAccount] = [await used(kept), await used(revoked)];
  expect((await externalBindingOwners(ca)).toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
    { namespace: 'shop', name: 'kept', uid: kept.uid },
    { namespace: 'shop', name: 'revoked', uid: revoked.uid },
  ]);

  await forgetExternalBinding(ca, kept);
  await forgetExternalBinding(ca, kept);
  for (const _ of [1, 2]) await releaseExternalBinding(ca, revoked, { isRetained: false, revokesAccount: true });

  expect(await livingOf(ca)).toEqual([]);
  expect(await stateOf(keptAccount.id)).toEqual({ state: 'valid' });
  expect(await stateOf(revokedAccount.id)).toEqual({ state: 'revoked' });
  const again = await applyExternalBinding(ca, declaration({ name: 'kept' }), spec(directory, { key_id: 'kept' }));
  expect([again.as, again.view.account]).toEqual(['created', undefined]);
});

test('who learns late that an object is gone leaves the token of the next one of its name', async () => {
  await using given = await givenCa();
  const { ca } = given;
  const directory = await givenDirectory(ca);
  const gone = declaration();
  await applyExternalBinding(ca, gone, spec(directory));
  const { view } = await applyExternalBinding(ca, declaration(), spec(directory));
  await forgetExternalBinding(ca, gone);
  expect(await livingOf(ca)).toMatchObject([{ id: view.id }]);
});

test('a retained token serves on, can be changed through /v1, and is taken back', async () => {
  await using given = await givenCa();
  const { ca, caller } = given;
  const directory = await givenDirectory(ca);
  const declared = declaration();
  const { view } = await applyExternalBinding(ca, declared, spec(directory));

  await releaseExternalBinding(ca, declared, { isRetained: true, revokesAccount: true });
  await releaseExternalBinding(ca, declared, { isRetained: true, revokesAccount: true });
  await forgetExternalBinding(ca, declared);
  expect(await externalBindingOwners(ca)).toEqual([]);
  await updateExternalBinding(ca, caller, view.id, { name: 'free' });

  const again = await applyExternalBinding(ca, declaration(), spec(directory));
  expect([again.as, again.view.id, again.view.macKey]).toEqual(['adopted', view.id, view.macKey]);
  expect(await livingOf(ca)).toMatchObject([{ name: 'till', orphaned_at: null }]);
});

const times = <Result>(count: number, work: () => Promise<Result>) => Array.from({ length: count }, work);
