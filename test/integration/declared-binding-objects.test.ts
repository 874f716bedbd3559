// ExternalBinding objects: from what is declared to the Secret that a client reads, and back again.
import { expect, test } from 'vitest';
import { forgetDirectory } from '../../src/core/declared-directory.ts';
import { parseId } from '../../src/core/ids.ts';
import { externalBindingReconciler } from '../../src/operator/external-binding.ts';
import { annotations } from '../../src/resources/annotations.ts';
import { FINALIZER, type ResourceKey } from '../../src/resources/resource.ts';
import { eventually } from '../support/eventually.ts';
import { spendToken } from '../support/given-acme-key.ts';
import { ANCHOR, givenDirectoryObject, givenOperator } from '../support/given-operator.ts';

const keyNamed = (name: string, namespace = 'shop'): ResourceKey => ({ kind: 'ExternalBinding', namespace, name });
const key = keyNamed('till');
const spec = (changes: object = {}) => ({
  directoryRef: { name: 'web', namespace: 'acmery-system' },
  orderValidations: 'auto_approved',
  onDelete: 'KeepAccount',
  deletionPolicy: 'Delete',
  ...changes,
});
const ready = { Ready: 'True Succeeded', SecretSynced: 'True Succeeded' };

async function givenTill() {
  const one = await givenOperator(externalBindingReconciler);
  const secret = (name = 'till-eab') => one.objects.outputs.output('Secret', 'shop', name);
  const spend = async () => {
    const id = parseId('eab', String(one.status(key).id)) ?? '';
    return spendToken(one.ca, { id, directoryId: one.directory.id });
  };
  const tokens = () => one.ca.database.db.selectFrom('external_bindings').selectAll().orderBy('created_at').execute();
  return { ...one, secret, spend, tokens };
}

test('a token is made and written into the Secret, by one write of each', async () => {
  await using one = await givenTill();
  one.objects.apply({ ...key, spec: spec() });
  await one.told(key, { ...ready, Bound: 'False Unused' });

  const directory = one.directory.directoryUrl;
  expect(one.secret()?.values).toEqual({
    kid: 'shop.till',
    secret: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    directory,
    'ca.crt': ANCHOR,
  });
  expect(one.status(key)).toMatchObject({
    observedGeneration: 1,
    id: expect.stringMatching(/^eab_/),
    keyId: 'shop.till',
    directoryUrl: directory,
    orderValidations: 'auto_approve',
    secretName: 'till-eab',
  });
  expect(one.status(key)).not.toHaveProperty('acmeKeyId');
  expect(one.reasons()).toEqual(['BindingCreated']);
  expect(one.objects.requests).toEqual(['apply Secret shop/till-eab', 'patch ExternalBinding/status shop/till']);
});

test('a thorough visit writes nothing where all is well, and one after a restart asks for nothing', async () => {
  await using one = await givenTill();
  one.objects.apply({ ...key, spec: spec() });
  await one.told(key, ready);
  const [row] = await one.tokens();
  const version = one.secret()?.resourceVersion;

  expect(await one.visited(key)).toEqual(['apply Secret shop/till-eab', 'patch ExternalBinding/status shop/till']);
  expect(one.secret()?.resourceVersion).toBe(version);
  expect(await one.tokens()).toEqual([row]);

  const from = one.objects.requests.length;
  const visits = async () => Number(/_reconcile_total\{[^}]*success[^}]*\} (\d+)/.exec(await one.metrics())?.[1] ?? 0);
  const before = await visits();
  await one.restart([key]);
  await eventually('it was visited again', async () => (await visits()) > before);
  expect(one.objects.requests.slice(from)).toEqual([]);
});

test('a Secret that was changed or deleted is made right', async () => {
  await using one = await givenTill();
  one.objects.apply({ ...key, spec: spec() });
  await one.told(key, ready);
  const values = one.secret()?.values;

  one.objects.outputs.write('Secret', 'shop', 'till-eab', { ...values, secret: 'another' });
  await one.visited(key);
  expect(one.secret()?.values).toEqual(values);
  one.objects.outputs.erase('Secret', 'shop', 'till-eab');
  await one.visited(key);
  expect(one.secret()?.values).toEqual(values);
  expect(one.reasons()).toEqual(['BindingCreated', 'DriftCorrected', 'DriftCorrected']);
});

test('a Secret of somebody else stays as it is, until its name is free', async () => {
  await using one = await givenTill();
  one.objects.setSecret('shop', 'till-eab', { mine: 'yes' });
  one.objects.apply({ ...key, spec: spec() });
  await one.told(key, {
    Ready: 'False SecretConflict',
    Stalled: 'True SecretConflict',
    SecretSynced: 'False SecretConflict',
  });
  expect(one.secret()?.values).toEqual({ mine: 'yes' });
  expect(one.message(key, 'Ready')).toContain('Secret shop/till-eab');

  one.objects.outputs.erase('Secret', 'shop', 'till-eab');
  await one.visited(key);
  await one.told(key, ready);
  expect(one.conditions(key)).not.toHaveProperty('Stalled');
});

test('another secretName moves the Secret', async () => {
  await using one = await givenTill();
  one.objects.apply({ ...key, spec: spec() });
  await one.told(key, ready);
  const values = one.secret()?.values;
  one.objects.apply({ ...key, spec: spec({ secretName: 'other' }) });
  await eventually('the Secret has moved', () => one.secret() === undefined && one.status(key).secretName === 'other');
  expect(one.secret('other')?.values).toEqual(values);
});

test('a binding waits for a Directory that is not there, not ready, going, or lets nobody in', async () => {
  await using one = await givenTill();
  const { ca, objects } = one;
  objects.apply({ ...key, spec: spec({ directoryRef: { name: 'late', namespace: 'acmery-system' } }) });
  await one.told(key, {
    Ready: 'False RefNotPermitted',
    Reconciling: 'True Progressing',
    SecretSynced: 'Unknown Progressing',
    Bound: 'Unknown Progressing',
  });
  await givenDirectoryObject(ca, objects, { name: 'late', from: 'Same' });
  await one.visited(key);
  expect(one.conditions(key).Ready).toBe('False RefNotPermitted');

  const late: ResourceKey = { kind: 'Directory', namespace: 'acmery-system', name: 'late' };
  objects.apply({ ...late, spec: { allowedNamespaces: { from: 'All' } } });
  await one.visited(key);
  expect(one.conditions(key).Ready).toBe('False DependencyNotReady');
  expect(await one.tokens()).toEqual([]);
});

test('the use of a token shows, and a used one keeps what it was used with', async () => {
  await using one = await givenTill();
  one.objects.apply({ ...key, spec: spec({ orderValidations: 'challenge' }) });
  await one.told(key, ready);
  const account = await one.spend();
  await one.visited(key);
  expect(one.conditions(key)).toMatchObject({ ...ready, Bound: 'True Used' });
  expect(one.status(key)).toMatchObject({
    acmeKeyId: expect.stringMatching(/^acmk_/),
    accountUrl: expect.stringContaining('/account/acmk_'),
    usedAt: one.ca.clock.now().toISOString(),
  });
  expect(one.reasons()).toEqual(['BindingCreated', 'BindingUsed']);

  one.objects.apply({ ...key, spec: spec({ orderValidations: 'auto_approve' }) });
  await one.told(key, { Ready: 'False TokenUsed', Stalled: 'True TokenUsed', SecretSynced: 'True Succeeded' });
  expect(one.message(key, 'Ready')).toContain('orderValidations');
  expect(one.status(key)).toMatchObject({ orderValidations: 'challenge' });
  expect(await one.tokens()).toMatchObject([{ acme_key_id: account.id, order_validations: 'challenge' }]);

  const before = one.secret()?.values;
  one.objects.annotate(key, { [annotations.renew]: 'lost the key' });
  await one.told(key, { ...ready, Bound: 'False Unused' });
  expect(one.status(key)).toMatchObject({ renewed: 'lost the key', orderValidations: 'auto_approve' });
  expect(one.status(key)).not.toHaveProperty('accountUrl');
  expect(one.secret()?.values).toEqual({ ...before, secret: expect.not.stringContaining(before?.secret ?? '') });
  await one.visited(key);
  expect(await one.tokens()).toHaveLength(2);
  expect(one.reasons()).toEqual(['BindingCreated', 'BindingUsed', 'TokenUsed', 'BindingCreated']);
});

test('of two objects with one key id the older has the token; the other names it, and follows it', async () => {
  await using one = await givenTill();
  const { objects, ca } = one;
  const younger = keyNamed('aaa', 'other');
  using held = objects.holdCopy();
  objects.apply({ ...key, spec: spec({ keyId: 'shared' }) });
  ca.clock.advance(5_000);
  objects.apply({ ...younger, spec: spec({ keyId: 'shared' }) });
  held[Symbol.dispose]();
  await one.told(key, ready);
  await one.told(younger, { Ready: 'False KeyIdConflict', Stalled: 'True KeyIdConflict' });
  expect(one.message(younger, 'Ready')).toContain('ExternalBinding shop/till');
  await one.visited(younger);
  expect(one.conditions(younger).Ready).toBe('False KeyIdConflict');

  objects.delete(key);
  await eventually('the token is free', async () => (await one.tokens())[0]?.deleted_at !== null);
  await one.visited(younger);
  await one.told(younger, ready);
  expect(objects.outputs.output('Secret', 'other', 'aaa-eab')?.values.kid).toBe('shared');
});

test('an object that is gone takes its token along, and comes back with another', async () => {
  await using one = await givenTill();
  one.objects.apply({ ...key, spec: spec() });
  await one.told(key, ready);
  const values = one.secret()?.values;
  const account = await one.spend();
  one.objects.delete(key);
  await eventually('the token is deleted', async () => (await one.tokens())[0]?.deleted_at !== null);
  expect(one.secret()).toBeUndefined();
  const { state } = await one.ca.database.db
    .selectFrom('acme_keys')
    .select('state')
    .where('id', '=', account.id)
    .executeTakeFirstOrThrow();
  expect(state).toBe('valid');

  one.objects.apply({ ...key, spec: spec() });
  await one.told(key, { ...ready, Bound: 'False Unused' });
  expect(one.secret()?.values.secret).not.toBe(values?.secret);
});

test('an object that is to revoke the account, or to leave the token, is held until that is done', async () => {
  await using one = await givenTill();
  const { objects, ca } = one;
  objects.apply({ ...key, spec: spec({ onDelete: 'RevokeAccount' }) });
  await one.told(key, ready);
  expect(objects.read(key)?.metadata.finalizers).toEqual([FINALIZER]);
  const { id } = await one.spend();
  objects.delete(key);
  await one.gone(key);
  const account = await ca.database.db.selectFrom('acme_keys').select('state').where('id', '=', id).execute();
  expect(account).toEqual([{ state: 'revoked' }]);

  const kept = keyNamed('kept');
  objects.apply({ ...kept, spec: spec({ deletionPolicy: 'Retain' }) });
  await one.told(kept, ready);
  objects.delete(kept);
  await one.gone(kept);
  expect((await one.tokens()).filter((row) => row.deleted_at === null)).toMatchObject([
    { key_id: 'shop.kept', orphaned_at: ca.clock.now() },
  ]);
});

test('a restored object takes its token and its Secret back', async () => {
  await using one = await givenTill();
  const { objects } = one;
  objects.apply({ ...key, spec: spec() });
  await one.told(key, ready);
  const values = one.secret()?.values;
  const { uid } = objects.restore(key).metadata;
  await one.told(key, ready);
  expect(one.secret()).toMatchObject({ values, owner: { uid } });
  expect(one.reasons()).toEqual(['BindingCreated', 'Adopted']);
  expect(await one.tokens()).toMatchObject([{ origin_uid: uid }]);
});

test('a binding whose directory was deleted waits, and gets a new token with the next one', async () => {
  await using one = await givenTill();
  const { objects, ca } = one;
  objects.apply({ ...key, spec: spec() });
  await one.told(key, ready);
  const { id } = one.status(key);
  const { metadata } =
    objects.read({ ...key, kind: 'Directory', namespace: 'acmery-system', name: 'web' }) ?? expect.fail();
  await forgetDirectory(ca, metadata, 'Delete');
  await one.visited(key);
  expect(one.conditions(key).Ready).toBe('False DependencyNotReady');
  await ca.database.db.updateTable('directories').set({ deleted_at: null }).execute();
  await one.visited(key);
  await one.told(key, ready);
  expect(one.status(key).id).not.toBe(id);
});

test('a usual name that is too long has to be replaced by another', async () => {
  await using one = await givenTill();
  const long = keyNamed('n'.repeat(130));
  one.objects.apply({ ...long, spec: spec() });
  await one.told(long, { Ready: 'False InvalidSpec', Stalled: 'True InvalidSpec' });
  expect(one.message(long, 'Ready')).toContain('spec.keyId');
  const longer = keyNamed('n'.repeat(252));
  one.objects.apply({ ...longer, spec: spec({ keyId: 'short' }) });
  await one.told(longer, { Ready: 'False InvalidSpec' });
  expect(one.message(longer, 'Ready')).toContain('spec.secretName');
});
