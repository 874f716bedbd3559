// Keys in Secrets of a real API server.
import { expect, test } from 'vitest';
import type { KeyMaterial } from '../../src/core/ports.ts';
import { openCluster } from '../../src/kubernetes/client.ts';
import { secretKeyStore } from '../../src/kubernetes/secret-key-store.ts';
import { keyAlgorithms } from '../../src/x509/algorithms.ts';
import { basicConstraints } from '../../src/x509/extensions.ts';
import { generatePrivateKey, pkcs8Of } from '../../src/x509/private-key.ts';
import { verifySignature } from '../../src/x509/signer.ts';
import { testCa } from '../support/ca.ts';
import { testCluster } from '../support/cluster.ts';
import { deleted, read } from '../support/cluster-objects.ts';
import { givenIntermediate, givenRoot } from '../support/given-signing-cert.ts';
import { aCertificate } from '../unit/x509/builders.ts';

const ref = '01890a5d-ac96-774b-bcce-b302099a8057';
const later = '01890a5d-ac96-774b-bcce-b302099a8058';
const origin = { namespace: 'infra', name: 'root', uid: 'u1' };

type Secret = {
  readonly type: string;
  readonly immutable: boolean;
  readonly metadata: { readonly name: string };
  readonly data: Readonly<Record<string, string>>;
};

async function given() {
  const cluster = await testCluster();
  const namespace = await cluster.namespace();
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  return {
    cluster,
    namespace,
    path,
    store: secretKeyStore({ cluster: cluster.admin, namespace }),
    secret: (name: string) => read<Secret>(cluster.admin, `${path}/acmery-${name}`),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

const aMaterial = async (): Promise<KeyMaterial> => ({ pkcs8: pkcs8Of(await generatePrivateKey('ec_256')) });

async function caMaterial(): Promise<KeyMaterial & Required<Pick<KeyMaterial, 'certificate' | 'origin'>>> {
  const key = await generatePrivateKey('ec_384');
  const certificate = await aCertificate({ extensions: [basicConstraints({ ca: true })] }, key);
  return { pkcs8: pkcs8Of(key), certificate, origin };
}

test('a key is stored once: the first of many wins, and all are given it', async () => {
  await using it = await given();
  const others = secretKeyStore({ cluster: it.cluster.admin, namespace: it.namespace });
  const materials = await Promise.all(Array.from({ length: 6 }, aMaterial));
  const stored = await Promise.all(
    materials.flatMap((material) => [it.store, others].map((store) => store.createOnce(ref, material))),
  );
  expect(new Set(stored.map(({ spki }) => spki.toString('hex'))).size).toBe(1);
  expect((await it.store.createOnce(ref, await aMaterial())).spki).toEqual(stored[0]?.spki);
});

test('the Secret of a CA cert is of the form that others read, is never changed, and belongs to nobody', async () => {
  await using it = await given();
  const material = await caMaterial();
  await it.store.createOnce(ref, material);
  const secret = await it.secret(ref);
  expect(secret).toMatchObject({
    type: 'kubernetes.io/tls',
    immutable: true,
    metadata: {
      labels: {
        'app.kubernetes.io/managed-by': 'acmery',
        'acmery.io/key-kind': 'signing-cert',
        'acmery.io/key-id': ref,
      },
      annotations: { 'acmery.io/namespace': 'infra', 'acmery.io/name': 'root', 'acmery.io/uid': 'u1' },
    },
  });
  expect(secret.metadata).not.toHaveProperty('ownerReferences');
  expect(Object.keys(secret.data).toSorted()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
  expect(Buffer.from(secret.data['tls.key'] ?? '', 'base64').toString()).toMatch(/^-----BEGIN PRIVATE KEY-----/);
  const path = `${it.path}/acmery-${ref}`;
  const body = { data: { 'tls.key': 'AAAA' } };
  const change = it.cluster.admin.request({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body });
  await expect(change).rejects.toMatchObject({ code: 422 });
});

test('the Secret of an intermediate holds its chain, and the root beside it', async () => {
  await using it = await given();
  await using alone = await testCa();
  const ca = { ...alone.ca, keys: it.store };
  const root = await givenRoot(ca);
  const middle = await givenIntermediate(ca, { parent: root, path_length: 1 });
  const issuing = await givenIntermediate(ca, { parent: middle, name: 'Lower' });
  const textOf = async (id: string, name: string) =>
    Buffer.from((await it.secret(id)).data[name] ?? '', 'base64').toString();
  expect(await textOf(issuing.id, 'tls.crt')).toBe(`${issuing.publicCert}${middle.publicCert}`);
  expect(await textOf(middle.id, 'tls.crt')).toBe(middle.publicCert);
  for (const { id } of [root, middle, issuing]) expect(await textOf(id, 'ca.crt')).toBe(root.publicCert);
  expect((await it.store.list()).find(({ ref: found }) => found === issuing.id)?.certificate).toBeDefined();
});

test.each([
  ['of a CA cert that waits for its certificate', ref, aMaterial, 'signing-cert', ['tls.key']],
  ['of our own HTTPS', 'serving-ca-1', caMaterial, 'serving-ca', ['tls.crt', 'tls.key']],
  ['of OCSP answers', ref, ocspMaterial, 'ocsp-signer', ['tls.crt', 'tls.key']],
])('the Secret %s is opaque', async (_what, name, make, kind, names) => {
  await using it = await given();
  await it.store.createOnce(name, await make());
  const secret = await it.secret(name);
  expect(secret).toMatchObject({
    type: 'Opaque',
    immutable: true,
    metadata: { labels: { 'acmery.io/key-kind': kind } },
  });
  expect(Object.keys(secret.data).toSorted()).toEqual(names);
});

test('a store opened later reads key, certificate and origin, and signs with it', async () => {
  await using it = await given();
  const material = await caMaterial();
  const { spki } = await it.store.createOnce(ref, material);
  const store = secretKeyStore({ cluster: it.cluster.admin, namespace: it.namespace });
  expect(await store.read(ref)).toEqual({ ref, spki, certificate: material.certificate, origin });
  const signer = await store.signer(ref);
  const signature = await signer.sign(Buffer.from('tbs'));
  const { algorithm } = keyAlgorithms.ec_384.signature;
  expect(await verifySignature(spki, algorithm, Buffer.from('tbs'), signature)).toBe(true);
  expect(await store.signer(ref)).toBe(signer);
});

test('a key is found by its origin: the same uid first, else the newest of that name; damage elsewhere does not matter', async () => {
  await using it = await given();
  await it.store.createOnce(ref, { ...(await aMaterial()), origin });
  await it.store.createOnce(later, { ...(await aMaterial()), origin: { ...origin, uid: 'u2' } });
  const labels = { 'app.kubernetes.io/managed-by': 'acmery', 'acmery.io/key-kind': 'signing-cert' };
  const body = { metadata: { name: 'acmery-damaged', labels }, data: { 'tls.key': 'AAAA' } };
  await it.cluster.admin.request({ method: 'POST', path: it.path, body });
  expect((await it.store.find(origin))?.ref).toBe(ref);
  expect((await it.store.find({ ...origin, uid: 'u3' }))?.ref).toBe(later);
  expect(await it.store.find({ ...origin, name: 'other' })).toBeUndefined();
});

test('all keys are listed, but for sealing keys and the Secrets of others', async () => {
  await using it = await given();
  await it.store.createOnce(later, await aMaterial());
  await it.store.createOnce(ref, await aMaterial());
  await it.store.createSealer('wrap');
  await it.cluster.admin.request({ method: 'POST', path: it.path, body: { metadata: { name: 'theirs' } } });
  expect((await it.store.list()).map((key) => key.ref)).toEqual([ref, later]);
});

test('what is sealed by one is opened by another, and the sealing key is made once', async () => {
  await using it = await given();
  const another = secretKeyStore({ cluster: it.cluster.admin, namespace: it.namespace });
  const [one, two] = await Promise.all([it.store.createSealer('wrap'), another.createSealer('wrap')]);
  expect(two.open(one.seal(Buffer.from('mac'), 'id'), 'id').toString()).toBe('mac');
  expect(await it.secret('wrap')).toMatchObject({ type: 'Opaque', immutable: true });
  await expect(another.sealer('other')).rejects.toMatchObject({ kind: 'unavailable' });
});

test('a removed key is gone, and removing it again is no error', async () => {
  await using it = await given();
  await it.store.createOnce(ref, await aMaterial());
  await it.store.signer(ref);
  await it.store.remove(ref);
  await it.store.remove(ref);
  expect(await it.store.read(ref)).toBeUndefined();
  await expect(it.store.signer(ref)).rejects.toMatchObject({ kind: 'unavailable' });
});

test('a key that does not belong to its certificate is neither stored nor believed', async () => {
  await using it = await given();
  const { certificate } = await caMaterial();
  await expect(it.store.createOnce(ref, { ...(await aMaterial()), certificate })).rejects.toMatchObject({
    name: 'X509Error',
  });
  await it.store.createOnce(ref, await caMaterial());
  const { metadata, ...secret } = await it.secret(ref);
  await deleted(it.cluster.admin, `${it.path}/acmery-${ref}`);
  await it.store.createOnce(later, await caMaterial());
  const data = { ...secret.data, 'tls.key': (await it.secret(later)).data['tls.key'] };
  const body = { ...secret, metadata: { name: metadata.name }, data };
  await it.cluster.admin.request({ method: 'POST', path: it.path, body });
  await expect(it.store.read(ref)).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining(`${it.namespace}/acmery-${ref} is damaged`),
  });
});

test('where the API server is away, or refuses, a key is not gone', async () => {
  await using it = await given();
  await it.store.createOnce(ref, await aMaterial());
  const kubeconfig = await it.cluster.kubeconfigFor({ user: 'x' }, { server: 'https://127.0.0.1:1' });
  await using away = await openCluster({ kubeconfig });
  const stranger = await it.cluster.openAs({ user: 'nobody' });
  for (const cluster of [away ?? stranger, stranger]) {
    const store = secretKeyStore({ cluster, namespace: it.namespace });
    const works = [
      () => store.read(ref),
      () => store.signer(ref),
      () => store.find(origin),
      () => store.list(),
      () => store.remove(ref),
    ];
    for (const work of works) await expect(work()).rejects.toMatchObject({ kind: 'unavailable' });
  }
});

async function ocspMaterial(): Promise<KeyMaterial> {
  const key = await generatePrivateKey('ec_256');
  const certificate = await aCertificate({ extensions: [basicConstraints({ ca: false })] }, key);
  return { pkcs8: pkcs8Of(key), certificate };
}
