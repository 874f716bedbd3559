// The plans that a new installation makes at the first visits to its objects and keeps: each row is found by its key, or by
// the object that it belongs to.
import { beforeAll, expect, test } from 'vitest';
import { formatId, parseId } from '../../src/core/ids.ts';
import { annotations } from '../../src/resources/annotations.ts';
import { keyOf, type ResourceKey } from '../../src/resources/resource.ts';
import { readCsrPem } from '../../src/x509/csr.ts';
import type { Manifest } from '../support/declared-objects.ts';
import { eventually } from '../support/eventually.ts';
import {
  type FirstPlan,
  firstPlansOf,
  managedWays,
  meantWalks,
  scansBesides,
  type Ways,
} from '../support/first-plans.ts';
import { foreignCa } from '../support/foreign-ca.ts';
import { foreignCrl } from '../support/foreign-crl.ts';
import { aPublicKey, givenAcmeKey, spendToken } from '../support/given-acme-key.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenExternalBinding } from '../support/given-external-binding.ts';
import { givenRoot } from '../support/given-signing-cert.ts';
import { givenWholeOperator, type WholeOperator } from '../support/given-whole-operator.ts';
import { aDirectory, anIntermediate, aSigningCert, keyOfManifest } from '../support/manifests.ts';

const NAMESPACE = 'acmery-system';

const byOrigin = /^\(\(origin_namespace = .* AND \(origin_name = /;
const ways: Ways = {
  ...managedWays,
  acme_keys_origin_key: byOrigin,
  directories_origin_key: byOrigin,
  external_bindings_origin_key: byOrigin,
  signing_certs_der_key: /^\(sha256\(der\) = /,
  signing_certs_origin_key: byOrigin,
};

let plans: readonly FirstPlan[];
beforeAll(async () => {
  await using given = await givenWholeOperator();
  plans = await firstPlansOf(given.databaseUrl, () => live(given));
});

test('every statement for an object of any kind, from its first visit to its end, finds each row by its key', () => {
  expect(scansBesides(plans, ways, meantWalks)).toEqual([]);
  expect(plans.length).toBeGreaterThan(60);
});

const root = aSigningCert('root', { deletionPolicy: 'Delete' });
const issuing = anIntermediate('issuing', 'root', { deletionPolicy: 'Delete' });
const next = anIntermediate('next', 'root');
const web = aDirectory('web', 'issuing');
const binding = (name: string, spec: object = {}): Manifest => ({
  kind: 'ExternalBinding',
  namespace: NAMESPACE,
  name,
  spec: {
    directoryRef: { name: 'web' },
    orderValidations: 'challenge',
    onDelete: 'RevokeAccount',
    deletionPolicy: 'Delete',
    ...spec,
  },
});
const account = (name: string, spec: object): Manifest => ({
  kind: 'AcmeKey',
  namespace: NAMESPACE,
  name,
  spec: {
    directoryRef: { name: 'web' },
    orderValidations: 'challenge',
    contacts: [],
    deletionPolicy: 'Delete',
    ...spec,
  },
});

async function live(given: WholeOperator): Promise<void> {
  await signingCerts(given);
  await directories(given);
  await externalBindings(given);
  await acmeKeys(given);
  for (const manifest of [root, web]) {
    given.objects.delete(keyOfManifest(manifest));
    await given.told(keyOfManifest(manifest), { Ready: 'False DeletionBlocked' });
  }
  for (const kind of ['ExternalBinding', 'AcmeKey'] as const)
    for (const resource of given.objects.source.list(kind)) given.objects.delete(keyOf(resource));
  await given.gone(keyOfManifest(web));
}

/** Applied, changed, visited once more, and taken back after a restore of the cluster. */
async function declared(given: WholeOperator, manifest: Manifest, ...changes: readonly object[]): Promise<ResourceKey> {
  const key = keyOfManifest(manifest);
  for (const change of [{}, ...changes]) {
    given.objects.apply({ ...manifest, spec: { ...manifest.spec, ...change } });
    await given.ready(key);
  }
  await given.visited(key);
  given.objects.restore(key);
  await eventually(`${key.name} is ready again`, () => given.conditions(key).Ready === 'True Succeeded');
  return key;
}

/** The object takes over a row of /v1, leaves it behind, and takes it back. */
async function adopted(given: WholeOperator, manifest: Manifest, id: string): Promise<void> {
  const key = keyOfManifest(manifest);
  const retained = { ...manifest, spec: { ...manifest.spec, deletionPolicy: 'Retain' } };
  given.objects.apply({ ...retained, annotations: { [annotations.adopt]: id } });
  await given.ready(key);
  expect(given.status(key).id).toBe(id);
  given.objects.delete(key);
  await given.gone(key);
  given.objects.apply(retained);
  await given.ready(key);
  expect(given.status(key).id).toBe(id);
}

async function gone(given: WholeOperator, key: ResourceKey): Promise<void> {
  given.objects.delete(key);
  await given.gone(key);
}

async function signingCerts(given: WholeOperator): Promise<void> {
  const { ca, objects } = given;
  await declared(given, root, { name: 'Corp Root' });
  await declared(given, issuing);
  await declared(given, next);
  await gone(given, await declared(given, anIntermediate('short', 'root', { deletionPolicy: 'Delete' })));
  await adopted(given, aSigningCert('adopted'), formatId('scrt', (await givenRoot(ca)).id));

  const elsewhere = await foreignCa();
  const requested = aSigningCert('requested', { certType: 'intermediate' });
  const key = keyOfManifest(requested);
  objects.apply(requested);
  await given.told(key, { Ready: 'False AwaitingCertificate' });
  const { spki } = readCsrPem(String(given.status(key).csr));
  const { publicCert } = await foreignCa({ parent: elsewhere, spki, subject: { CN: 'requested' } });
  await declared(given, { ...requested, spec: { ...requested.spec, publicCert } });

  objects.setSecret(NAMESPACE, 'crl', { 'crl.pem': await foreignCrl(elsewhere) });
  const offline = { keyAvailability: 'offline', publicCert: elsewhere.publicCert } as const;
  await declared(given, aSigningCert('offline', { ...offline, crl: { secretRef: { name: 'crl' } } }));
  const moved = await foreignCa({ subject: { CN: 'Moved' } });
  objects.setSecret(NAMESPACE, 'moved', { 'tls.crt': moved.publicCert, 'tls.key': moved.privateKey });
  await declared(given, aSigningCert('moved', { import: { secretRef: { name: 'moved' } } }));
}

async function directories(given: WholeOperator): Promise<void> {
  await declared(given, web, { certMaxDays: 30 }, { signingCertRef: { name: 'next' } });
  const { id } = await givenDirectory(given.ca, { slug: 'adopted' });
  await adopted(given, aDirectory('adopted', 'issuing'), formatId('dir', id));
  // One comes back with its slug, and another takes it.
  const late = await declared(given, aDirectory('late', 'issuing'));
  await gone(given, late);
  await declared(given, aDirectory('late', 'issuing'));
  await gone(given, late);
  const heir = aDirectory('heir', 'issuing', { slug: 'late' });
  await declared(given, { ...heir, annotations: { [annotations.reuseSlug]: 'true' } });
}

async function externalBindings(given: WholeOperator): Promise<void> {
  const { ca, objects } = given;
  const directoryId = uuidOf('dir', given.status(keyOfManifest(web)).id);
  const key = await declared(given, binding('till'), { name: 'Till' }, { orderValidations: 'auto_approve' });
  await spendToken(ca, { id: uuidOf('eab', given.status(key).id), directoryId });
  await given.visited(key);
  await given.told(key, { Bound: 'True Used' });
  objects.annotate(key, { [annotations.renew]: 'lost' });
  await given.told(key, { Bound: 'False Unused' });
  await spendToken(ca, { id: uuidOf('eab', given.status(key).id), directoryId });
  await given.visited(key);
  await gone(given, key);
  const { id } = await givenExternalBinding(ca, { id: directoryId });
  await adopted(given, binding('adopted'), formatId('eab', id));
  objects.apply(binding('taken', { keyId: 'adopted' }));
  await gone(given, keyOfManifest(binding('adopted')));
}

async function acmeKeys(given: WholeOperator): Promise<void> {
  const directoryId = uuidOf('dir', given.status(keyOfManifest(web)).id);
  await gone(given, await declared(given, account('made', { generate: { keyType: 'ec_256' } }), { name: 'Made' }));
  const publicKey = await aPublicKey();
  await declared(given, account('given', { publicKey }), { contacts: ['mailto:ops@corp.example'] });
  const public_key = await aPublicKey();
  const { id } = await givenAcmeKey(given.ca, { id: directoryId }, { public_key });
  await adopted(given, account('adopted', { publicKey: public_key }), formatId('acmk', id));
}

const uuidOf = (kind: Parameters<typeof parseId>[0], id: unknown): string =>
  parseId(kind, String(id)) ?? expect.fail(`${id} is no id`);
