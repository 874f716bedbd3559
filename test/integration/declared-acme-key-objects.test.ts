// AcmeKey objects: accounts by a key that is given, or made here and kept in a Secret alone.
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { expect, test } from 'vitest';
import { newAccountPrivateKey } from '../../src/core/account-key-pair.ts';
import { deactivateAccount } from '../../src/core/deactivate-account.ts';
import { parseId } from '../../src/core/ids.ts';
import { changeAccountKey } from '../../src/core/key-change.ts';
import { acmeKeyReconciler } from '../../src/operator/acme-key.ts';
import { Untold } from '../../src/operator/untold.ts';
import { beginVisit } from '../../src/operator/visit.ts';
import type { AcmeKeyResource } from '../../src/resources/acme-key-resource.ts';
import { FINALIZER, type ResourceKey } from '../../src/resources/resource.ts';
import { anAccountKey, aPublicKey } from '../support/given-acme-key.ts';
import { acmeAccount, acmeDirectory } from '../support/given-client.ts';
import { ANCHOR, givenOperator } from '../support/given-operator.ts';

const key: ResourceKey = { kind: 'AcmeKey', namespace: 'edge', name: 'proxy' };
const spec = (changes: object) => ({
  directoryRef: { name: 'web', namespace: 'acmery-system' },
  contacts: ['mailto:edge@corp.example'],
  orderValidations: 'challenge',
  deletionPolicy: 'Delete',
  ...changes,
});
const generated = spec({ generate: { keyType: 'ec_256' } });
const ready = { Ready: 'True Succeeded', Registered: 'True Succeeded' };

async function givenProxy() {
  const one = await givenOperator(acmeKeyReconciler);
  const secret = (name = 'proxy-account') => one.objects.outputs.output('Secret', 'edge', name);
  const accounts = () => one.ca.database.db.selectFrom('acme_keys').selectAll().orderBy('created_at').execute();
  const id = () => parseId('acmk', String(one.status(key).id)) ?? '';
  return { ...one, secret, accounts, id };
}

const publicHalf = (pem = '') => createPublicKey(createPrivateKey(pem)).export({ type: 'spki', format: 'pem' });

test('a key that is given is registered, and its account shown', async () => {
  await using one = await givenProxy();
  const publicKey = await aPublicKey();
  one.objects.apply({ ...key, spec: spec({ publicKey }) });
  await one.told(key, ready);
  expect(one.status(key)).toMatchObject({
    id: expect.stringMatching(/^acmk_/),
    state: 'valid',
    publicKey,
    contacts: ['mailto:edge@corp.example'],
    orderValidations: 'challenge',
    directoryUrl: one.directory.directoryUrl,
    accountUrl: expect.stringContaining('/account/acmk_'),
  });
  expect(one.status(key)).not.toHaveProperty('secretName');
  expect(one.objects.read(key)?.metadata.finalizers).toEqual([FINALIZER]);
  expect(one.reasons()).toEqual(['AccountRegistered']);
  expect(await one.accounts()).toMatchObject([{ name: 'proxy', origin: 'kubernetes' }]);
  expect(await one.visited(key)).toEqual(['patch AcmeKey/status edge/proxy']);
});

test('a key that is made stands in the Secret, with what its client needs', async () => {
  await using one = await givenProxy();
  one.objects.apply({ ...key, spec: generated });
  await one.told(key, ready);
  const values = one.secret()?.values;
  expect(values).toEqual({
    'tls.key': expect.stringMatching(/^-----BEGIN PRIVATE KEY-----\n/),
    directory: one.directory.directoryUrl,
    'ca.crt': ANCHOR,
    account: one.status(key).accountUrl,
  });
  expect(publicHalf(values?.['tls.key'])).toBe(one.status(key).publicKey);
  expect(one.message(key, 'Registered')).toContain('cert-manager takes RSA keys only');

  const version = one.secret()?.resourceVersion;
  await one.visited(key);
  expect(one.secret()?.resourceVersion).toBe(version);
  expect(await one.accounts()).toHaveLength(1);

  const rsa: ResourceKey = { ...key, name: 'rsa' };
  one.objects.apply({ ...rsa, spec: spec({ generate: { keyType: 'rsa_2048', secretName: 'mine' } }) });
  await one.told(rsa, ready);
  expect(one.secret('mine')?.values).toHaveProperty(['tls.key']);
  expect(one.message(rsa, 'Registered')).not.toContain('cert-manager');
});

test('a key that stands in the Secret is registered as it is: an operator had stopped in between', async () => {
  await using one = await givenProxy();
  const { objects, operator } = one;
  const data = { 'tls.key': await newAccountPrivateKey('ec_256') };
  using held = objects.holdCopy();
  const resource = objects.apply({ ...key, spec: generated });
  const { signal } = new AbortController();
  await operator.outputs.createOnce(resource, { kind: 'Secret', name: 'proxy-account', data }, signal);
  held[Symbol.dispose]();
  await one.told(key, ready);
  expect(one.secret()?.values).toMatchObject(data);
  expect(one.status(key).publicKey).toBe(publicHalf(data['tls.key']));
});

test('two operators at once make one key and one account', async () => {
  await using one = await givenProxy();
  const { objects, operator } = one;
  await objects.caughtUp();
  using _ = objects.holdCopy();
  const resource = objects.apply({ ...key, spec: generated });
  const { signal } = new AbortController();
  const visit = async () => {
    const begun = beginVisit<AcmeKeyResource>(
      { ...resource, kind: 'AcmeKey', spec: Object(resource.spec) },
      {
        signal,
        isThorough: true,
        untold: new Untold(resource.metadata.uid),
      },
    );
    const outcomes = [];
    for (const step of acmeKeyReconciler.steps) outcomes.push((await step(operator, begun)).outcome);
    return { outcomes, thumbprint: begun.status.thumbprint };
  };
  const visits = await Promise.all([visit(), visit(), visit()]);
  expect(visits.flatMap(({ outcomes }) => outcomes).every((outcome) => outcome === 'done')).toBe(true);
  const [account, ...others] = await one.accounts();
  expect(others).toEqual([]);
  const publicKey = account?.spki.toString('base64') ?? '';
  expect(
    publicHalf(one.secret()?.values['tls.key'])
      .toString()
      .replaceAll(/-.*-|\n/g, ''),
  ).toBe(publicKey);
});

test('what is lacking beside the key is put back; a key that is gone or another is told', async () => {
  await using one = await givenProxy();
  const { objects } = one;
  objects.apply({ ...key, spec: generated });
  await one.told(key, ready);
  const values = one.secret()?.values ?? {};
  objects.outputs.write('Secret', 'edge', 'proxy-account', { 'tls.key': values['tls.key'] ?? '' });
  await one.visited(key);
  expect(one.secret()?.values).toEqual(values);
  expect(one.reasons()).toEqual(['AccountRegistered', 'DriftCorrected']);

  objects.outputs.erase('Secret', 'edge', 'proxy-account');
  await one.visited(key);
  expect(one.conditions(key)).toMatchObject({ Ready: 'False KeyLost', Stalled: 'True KeyLost', ...registered });
  expect(one.message(key, 'Ready')).toContain('declare it again');
  expect(one.secret()).toBeUndefined();
});

const registered = { Registered: 'True Succeeded' };

test('a Secret of somebody else is left alone, and nothing is registered', async () => {
  await using one = await givenProxy();
  const { objects } = one;
  objects.setSecret('edge', 'proxy-account', { mine: 'yes' });
  objects.apply({ ...key, spec: generated });
  await one.told(key, {
    Ready: 'False SecretConflict',
    Stalled: 'True SecretConflict',
    Registered: 'Unknown Progressing',
  });
  expect(await one.accounts()).toEqual([]);
  expect(one.secret()?.values).toEqual({ mine: 'yes' });
  objects.outputs.erase('Secret', 'edge', 'proxy-account');
  await one.visited(key);
  await one.told(key, ready);
});

test('what the client changes shows; the Secret keeps the key that it began with', async () => {
  await using one = await givenProxy();
  one.objects.apply({ ...key, spec: generated });
  await one.told(key, ready);
  const first = one.secret()?.values['tls.key'];
  const account = await acmeAccount(one.ca, one.id());
  const next = await anAccountKey();
  const directory = await acmeDirectory(one.ca, one.directory);
  const change = { directory, account, key: next, oldThumbprint: account.thumbprint, requestId: 'request-1' };
  await changeAccountKey(one.ca, change);
  await one.visited(key);
  expect(one.conditions(key)).toMatchObject(ready);
  expect(one.status(key).thumbprint).toBe(next.thumbprint.toString('base64url'));
  expect(one.secret()?.values['tls.key']).toBe(first);

  await deactivateAccount(one.ca, await acmeAccount(one.ca, one.id()), 'request-2');
  await one.visited(key);
  expect(one.conditions(key)).toMatchObject({ Ready: 'False KeyNotValid', Registered: 'False KeyNotValid' });
  expect(one.status(key).state).toBe('deactivated');
  expect(one.message(key, 'Ready')).toContain('by its ACME client');
});

test('an object that goes takes its account and its key along; declared again it has new ones', async () => {
  await using one = await givenProxy();
  const { objects } = one;
  objects.apply({ ...key, spec: generated });
  await one.told(key, ready);
  const first = one.secret()?.values['tls.key'];
  objects.delete(key);
  await one.gone(key);
  expect(one.secret()).toBeUndefined();
  expect(await one.accounts()).toMatchObject([{ state: 'revoked' }]);

  objects.apply({ ...key, spec: generated });
  await one.told(key, ready);
  expect(one.secret()?.values['tls.key']).not.toBe(first);
  expect(await one.accounts()).toHaveLength(2);
});

test('a given key that is declared again after its object went is refused for ever', async () => {
  await using one = await givenProxy();
  const { objects } = one;
  const manifest = { ...key, spec: spec({ publicKey: await aPublicKey() }) };
  objects.apply(manifest);
  await one.told(key, ready);
  objects.delete(key);
  await one.gone(key);
  objects.apply(manifest);
  await one.told(key, { Ready: 'False KeyInvalidated', Stalled: 'True KeyInvalidated' });
});

test('a retained account outlives its object and is taken back', async () => {
  await using one = await givenProxy();
  const { objects } = one;
  const manifest = { ...key, spec: spec({ publicKey: await aPublicKey(), deletionPolicy: 'Retain' }) };
  objects.apply(manifest);
  await one.told(key, ready);
  const { id } = one.status(key);
  objects.delete(key);
  await one.gone(key);
  expect(await one.accounts()).toMatchObject([{ state: 'valid', orphaned_at: one.ca.clock.now() }]);
  objects.apply(manifest);
  await one.told(key, ready);
  expect(one.status(key).id).toBe(id);
  expect(one.reasons()).toEqual(['AccountRegistered', 'Adopted']);
});

test('the key that was made for a retained account stays in its Secret, and serves the next object', async () => {
  await using one = await givenProxy();
  const { objects } = one;
  const manifest = { ...key, spec: { ...generated, deletionPolicy: 'Retain' } };
  objects.apply(manifest);
  await one.told(key, ready);
  const first = one.secret()?.values['tls.key'];
  objects.delete(key);
  await one.gone(key);
  expect(one.secret()?.values['tls.key']).toBe(first);
  objects.apply(manifest);
  await one.told(key, ready);
  expect(one.secret()?.values['tls.key']).toBe(first);
  expect(await one.accounts()).toMatchObject([{ state: 'valid', orphaned_at: null }]);
});
