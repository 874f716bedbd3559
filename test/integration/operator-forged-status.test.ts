// Who may write statuses in a namespace of his own gets nothing by it that is not his.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ResourceKey } from '../../src/resources/resource.ts';
import { givenWholeOperator, type WholeOperator } from '../support/given-whole-operator.ts';
import { aDirectory, anIntermediate, aSigningCert, keyOfManifest } from '../support/manifests.ts';

let given: WholeOperator;
beforeEach(async () => {
  given = await givenWholeOperator();
  given.objects.apply(aSigningCert('corp-root'));
  given.objects.apply(anIntermediate('issuing', 'corp-root'));
  given.objects.apply(corporate);
  await given.ready(keyOfManifest(corporate));
});
afterEach(() => given[Symbol.asyncDispose]());

const corporate = aDirectory('web', 'issuing');
const shop = 'shop';

/** Writes into the status what the status of another says. */
const forge = (key: ResourceKey, model: ResourceKey): void => {
  const { generation } = given.objects.read(key)?.metadata ?? expect.fail('not there');
  const ready = { type: 'Ready', status: 'True', reason: 'Succeeded', message: '', observedGeneration: generation };
  given.objects.setStatus(key, { ...given.status(model), observedGeneration: generation, conditions: [ready] });
};

test('a status with the id of another CA cert lets nobody issue from that', async () => {
  const tenants = aSigningCert('issuing', {}, shop);
  const own = keyOfManifest(tenants);
  given.objects.apply(tenants);
  await given.told(own, { Ready: 'False NamespaceNotAllowed' });
  forge(own, { ...own, namespace: 'acmery-system' });
  const web = aDirectory('shop', 'issuing', {}, shop);
  given.objects.apply(web);
  await given.told(keyOfManifest(web), { Ready: 'False DependencyNotReady' });
  expect(given.message(keyOfManifest(web))).toContain('not its own');
  expect(given.status(keyOfManifest(web)).id).toBeUndefined();
});

test('a status with the id of another directory binds nobody to that', async () => {
  const web = aDirectory('web', 'issuing', { slug: 'shop' }, shop);
  given.objects.apply(web);
  await given.told(keyOfManifest(web), { Ready: 'False DependencyNotReady' });
  forge(keyOfManifest(web), keyOfManifest(corporate));
  const till: ResourceKey = { kind: 'ExternalBinding', namespace: shop, name: 'till' };
  given.objects.apply({
    ...till,
    spec: {
      directoryRef: { name: 'web' },
      orderValidations: 'auto_approve',
      onDelete: 'KeepAccount',
      deletionPolicy: 'Delete',
    },
  });
  await given.told(till, { Ready: 'False DependencyNotReady' });
  expect(given.message(till)).toContain('not its own');
  expect(given.objects.outputs.output('Secret', shop, 'till-eab')).toBeUndefined();
});
