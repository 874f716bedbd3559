// Secrets and ConfigMaps beside custom resources: written once, kept equal, and nobody else's touched.
import { expect, test } from 'vitest';
import { clusterOutputs } from '../../src/kubernetes/outputs.ts';
import type { Output } from '../../src/operator/ports.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { testCluster } from '../support/cluster.ts';
import { bindingsPath, deleted, givenBinding, never, read } from '../support/cluster-objects.ts';
import { eventually } from '../support/eventually.ts';
import { userNameOf } from '../support/plane/test-cluster.ts';

type Stored = Pick<Resource, 'metadata'> & {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
};

const eab = (data: Readonly<Record<string, string>> = { kid: 'shop.a', secret: 'x'.repeat(43) }): Output => ({
  kind: 'Secret',
  name: 'a-eab',
  data,
});
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A namespace with an owner, and what a user of its own may do there and has done. */
async function given() {
  const cluster = await testCluster();
  const namespace = await cluster.namespace();
  const identity = { user: `operator-${namespace}`, groups: ['system:masters'] };
  const owner = await givenBinding(cluster.admin, namespace, 'a');
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  return {
    cluster,
    admin: cluster.admin,
    namespace,
    owner,
    path,
    outputs: clusterOutputs(await cluster.openAs(identity)),
    stored: () => read<Stored>(cluster.admin, `${path}/a-eab`),
    /** Verbs of the writes to Secrets so far. */
    async writes(count: number): Promise<readonly string[]> {
      const find = async () =>
        (await cluster.requestsOf(userNameOf(identity))).map(({ verb }) => verb).filter((verb) => verb !== 'get');
      await eventually(`${count} writes are in the log`, async () => (await find()).length >= count);
      return find();
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

test('a new one is one write, with type, label and a controller that does not block its deletion', async () => {
  await using it = await given();
  expect(await it.outputs.apply(it.owner, eab(), never)).toBe('created');
  const stored = await it.stored();
  expect(stored).toMatchObject({ type: 'Opaque', data: { kid: base64('shop.a'), secret: base64('x'.repeat(43)) } });
  expect(stored.metadata).toMatchObject({
    labels: { 'app.kubernetes.io/managed-by': 'acmery' },
    ownerReferences: [
      { apiVersion: 'acmery.io/v1', kind: 'ExternalBinding', name: 'a', uid: it.owner.metadata.uid, controller: true },
    ],
  });
  expect(JSON.stringify(stored.metadata)).not.toContain('blockOwnerDeletion');
  expect(await it.writes(1)).toEqual(['create']);
});

test('an equal one is left as it is', async () => {
  await using it = await given();
  await it.outputs.apply(it.owner, eab(), never);
  const before = await it.stored();
  expect(await it.outputs.apply(it.owner, eab(), never)).toBe('unchanged');
  expect((await it.stored()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});

test('one that was made before is read, and not sent where it is equal', async () => {
  await using it = await given();
  await it.outputs.apply(it.owner, eab(), never);
  expect(await it.outputs.apply(it.owner, { ...eab(), wasMade: true }, never)).toBe('unchanged');
  await it.admin.request({ method: 'DELETE', path: `${it.path}/a-eab` });
  expect(await it.outputs.apply(it.owner, { ...eab(), wasMade: true }, never)).toBe('created');
  expect(await it.writes(2)).toEqual(['create', 'create']);
});

test('one that differs is made equal, keys that are no longer wanted included', async () => {
  await using it = await given();
  await it.outputs.apply(it.owner, eab({ kid: 'shop.a', secret: 'old', 'ca.crt': 'anchor' }), never);
  const data = { kid: base64('changed'), stray: base64('x'), constructor: base64('y') };
  const body = { metadata: { labels: { team: 'shop' } }, data };
  const path = `${it.path}/a-eab`;
  await it.admin.request({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body });
  expect(await it.outputs.apply(it.owner, eab({ kid: 'shop.a', secret: 'new' }), never)).toBe('corrected');
  const stored = await it.stored();
  expect(stored.data).toEqual({ kid: base64('shop.a'), secret: base64('new') });
  expect(stored.metadata.labels).toMatchObject({ team: 'shop' });
  expect(JSON.stringify(stored.metadata)).toContain('"manager":"acmery","operation":"Apply"');
  expect(await it.outputs.apply(it.owner, eab({ kid: 'shop.a', secret: 'new' }), never)).toBe('unchanged');
});

test.each([
  ['without our label', {}, 'a'],
  ['without a controller', { 'app.kubernetes.io/managed-by': 'acmery' }, undefined],
  ['of another object', { 'app.kubernetes.io/managed-by': 'acmery' }, 'b'],
])('one %s is not read, not changed and not removed', async (_what, labels, ownerName) => {
  await using it = await given();
  const another = await givenBinding(it.admin, it.namespace, 'b');
  const owner = ownerName && referenceTo(ownerName === 'a' ? it.owner : another);
  const metadata = { name: 'a-eab', labels, ...(owner && { ownerReferences: [owner] }) };
  await it.admin.request({ method: 'POST', path: it.path, body: { metadata, data: { kid: base64('theirs') } } });
  const before = await it.stored();
  await expect(it.outputs.apply(it.owner, eab(), never)).rejects.toMatchObject({ refusal: 'foreign' });
  await expect(it.outputs.read(it.owner, eab(), never)).rejects.toMatchObject({ refusal: 'foreign' });
  await it.outputs.remove(it.owner, eab(), never);
  expect(await it.stored()).toEqual(before);
});

test('one of the object that had the name before is taken over', async () => {
  await using it = await given();
  await it.outputs.apply(it.owner, eab(), never);
  const path = `${bindingsPath(it.namespace)}/a`;
  await it.admin.request({
    method: 'DELETE',
    path,
    body: { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Orphan' },
  });
  const body = { metadata: { ownerReferences: [referenceTo(it.owner)] } };
  await eventually('the former owner is gone', async () => (await exists(() => read(it.admin, path))) === false);
  await it.admin.request({
    method: 'PATCH',
    path: `${it.path}/a-eab`,
    contentType: 'application/merge-patch+json',
    body,
  });
  const owner = await givenBinding(it.admin, it.namespace, 'a');
  // The garbage collector may be faster, and then it is made anew.
  expect(['corrected', 'created']).toContain(await applied(() => it.outputs.apply(owner, eab(), never)));
  expect((await it.stored()).metadata).toMatchObject({
    ownerReferences: [{ uid: owner.metadata.uid, controller: true }],
  });
});

test('one that a backup brought back without its owner is taken over', async () => {
  await using it = await given();
  await it.outputs.apply(it.owner, eab(), never);
  const { labels, annotations } = (await it.stored()).metadata;
  await it.admin.request({ method: 'DELETE', path: `${it.path}/a-eab` });
  const metadata = { name: 'a-eab', labels, annotations };
  await it.admin.request({ method: 'POST', path: it.path, body: { metadata, data: { secret: base64('kept') } } });
  expect(await it.outputs.read(it.owner, eab(), never)).toEqual({ secret: 'kept' });
  const another = await givenBinding(it.admin, it.namespace, 'b');
  await expect(it.outputs.read(another, eab(), never)).rejects.toMatchObject({ refusal: 'foreign' });
  expect(await it.outputs.apply(it.owner, eab(), never)).toBe('corrected');
  expect((await it.stored()).metadata).toMatchObject({
    ownerReferences: [{ uid: it.owner.metadata.uid, controller: true }],
  });
});

test('a ConfigMap is text, read as it was written, and removed', async () => {
  await using it = await given();
  const output = { kind: 'ConfigMap', name: 'web-acme', data: { directory: 'https://ca.example/ä' } } as const;
  expect(await it.outputs.read(it.owner, output, never)).toBeUndefined();
  await it.outputs.apply(it.owner, output, never);
  expect(await it.outputs.apply(it.owner, output, never)).toBe('unchanged');
  expect(await it.outputs.read(it.owner, output, never)).toEqual(output.data);
  await it.outputs.remove(it.owner, output, never);
  await it.outputs.remove(it.owner, output, never);
  expect(await it.outputs.read(it.owner, output, never)).toBeUndefined();
});

test('a Secret is read with its values decoded', async () => {
  await using it = await given();
  await it.outputs.apply(it.owner, eab(), never);
  expect(await it.outputs.read(it.owner, eab(), never)).toEqual(eab().data);
});

test('one that is retained has no owner any more, and gets the next of its name', async () => {
  await using it = await given();
  await it.outputs.apply(it.owner, eab(), never);
  for (const _ of [1, 2]) await it.outputs.retain(it.owner, eab(), never);
  const kept = (await it.stored()).metadata;
  expect(kept).not.toHaveProperty('ownerReferences');
  expect(kept.annotations).toEqual({ 'acmery.io/made-for': 'ExternalBinding/a' });
  const other = await givenBinding(it.admin, it.namespace, 'b');
  await expect(it.outputs.apply(other, eab(), never)).rejects.toMatchObject({ refusal: 'foreign' });
  await deleted(it.admin, `${bindingsPath(it.namespace)}/a`);
  const next = await givenBinding(it.admin, it.namespace, 'a');
  expect(await it.outputs.read(next, eab(), never)).toEqual(eab().data);
  expect(await it.outputs.apply(next, eab(), never)).toBe('corrected');
  const { metadata } = await it.stored();
  expect(metadata).toMatchObject({ ownerReferences: [referenceTo(next)] });
});

test('in a namespace that is gone nothing is made', async () => {
  await using it = await given();
  const elsewhere = { ...it.owner, metadata: { ...it.owner.metadata, namespace: 'nowhere' } };
  await expect(it.outputs.apply(elsewhere, eab(), never)).rejects.toMatchObject({ refusal: 'gone' });
});

test('one of many that make the same one at once makes it', async () => {
  await using it = await given();
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => it.outputs.apply(it.owner, eab(), never)));
  expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(1);
  expect(outcomes.filter((outcome) => outcome === 'unchanged')).toHaveLength(7);
});

const referenceTo = ({ metadata: { name, uid } }: Resource) => ({
  apiVersion: 'acmery.io/v1',
  kind: 'ExternalBinding',
  name,
  uid,
  controller: true,
});

const exists = (reading: () => Promise<unknown>): Promise<boolean> =>
  reading().then(
    () => true,
    () => false,
  );

/** As a reconciler does: what was removed meanwhile is looked at again. */
async function applied(apply: () => Promise<string>): Promise<string> {
  let outcome = '';
  await eventually('it is applied', async () => {
    outcome = await apply().catch(() => '');
    return outcome !== '';
  });
  return outcome;
}
