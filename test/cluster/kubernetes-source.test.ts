// Custom resources of a real API server as the operator sees them, and what it writes to them.
import { expect, test } from 'vitest';
import { type ClusterSourceOptions, openClusterSource } from '../../src/kubernetes/source.ts';
import type { Change } from '../../src/operator/ports.ts';
import { FINALIZER, type ResourceKey } from '../../src/resources/resource.ts';
import { testCluster } from '../support/cluster.ts';
import { bindingsPath, deleted, givenBinding, never, read, telemetry } from '../support/cluster-objects.ts';
import { eventually } from '../support/eventually.ts';

const keyOf = (namespace: string, name: string): ResourceKey => ({ kind: 'ExternalBinding', namespace, name });

async function followed(options: Omit<ClusterSourceOptions, 'events'>) {
  const source = openClusterSource({ ...options, events: telemetry().events });
  const changes: Change[] = [];
  const namespaces: string[] = [];
  source.follow({
    changed: (change) => changes.push(change),
    namespaceChanged: (namespace) => namespaces.push(namespace),
  });
  await source.synced(never);
  return { source, changes, namespaces, [Symbol.asyncDispose]: () => source[Symbol.asyncDispose]() };
}

test('what is there is told and can be read, and then every change', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const made = await givenBinding(cluster.admin, namespace, 'a');
  await using it = await followed({ cluster: cluster.admin });
  const mine = () => it.changes.filter(({ key }) => key.namespace === namespace);
  expect(mine()).toMatchObject([{ key: keyOf(namespace, 'a'), after: { metadata: { uid: made.metadata.uid } } }]);
  expect(it.source.get(keyOf(namespace, 'a'))).toMatchObject({
    apiVersion: 'acmery.io/v1',
    kind: 'ExternalBinding',
    spec: { directoryRef: { name: 'web' } },
    status: { observedGeneration: -1 },
  });
  expect(it.source.get(keyOf(namespace, 'a'))?.metadata).not.toHaveProperty('managedFields');

  await deleted(cluster.admin, `${bindingsPath(namespace)}/a`);
  const again = await givenBinding(cluster.admin, namespace, 'a');
  await eventually('both changes are told', () => mine().length === 3);
  expect(mine().slice(1)).toMatchObject([
    { before: { metadata: { uid: made.metadata.uid } } },
    { after: { metadata: { uid: again.metadata.uid } } },
  ]);
  expect(it.source.list('ExternalBinding').filter(({ metadata }) => metadata.namespace === namespace)).toHaveLength(1);
});

test('what is only out of sight is not gone', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const { uid } = (await givenBinding(cluster.admin, namespace, 'a')).metadata;
  await using edge = await followed({ cluster: cluster.admin, resourceClass: 'edge' });
  const stranger = openClusterSource({ cluster: await cluster.openAs({ user: 'nobody' }), events: telemetry().events });
  const key = keyOf(namespace, 'a');
  expect(edge.source.get(key)).toBeUndefined();
  expect(await edge.source.isGone(key, uid, never)).toBe(false);
  expect(await edge.source.isGone(key, 'another', never)).toBe(true);
  expect(await stranger.isGone(key, uid, never)).toBe(false);
  await deleted(cluster.admin, `${bindingsPath(namespace)}/a`);
  expect(await edge.source.isGone(key, uid, never)).toBe(true);
});

test('objects of another class are not there, and one that changes its class goes', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  await givenBinding(cluster.admin, namespace, 'plain');
  await givenBinding(cluster.admin, namespace, 'edge', { labels: { 'acmery.io/class': 'edge' } });
  await using plain = await followed({ cluster: cluster.admin });
  await using edge = await followed({ cluster: cluster.admin, resourceClass: 'edge' });
  const namesIn = ({ source }: typeof plain) =>
    source.list('ExternalBinding').flatMap(({ metadata }) => (metadata.namespace === namespace ? [metadata.name] : []));
  expect([namesIn(plain), namesIn(edge)]).toEqual([['plain'], ['edge']]);
  const body = { metadata: { labels: { 'acmery.io/class': 'edge' } } };
  const path = `${bindingsPath(namespace)}/plain`;
  await cluster.admin.request({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body });
  await eventually('it has moved', () => namesIn(plain).length === 0 && namesIn(edge).length === 2);
});

test('with listed namespaces only these are asked for, with no right to anything beyond', async () => {
  await using cluster = await testCluster();
  const [one, two, other] = [await cluster.namespace(), await cluster.namespace(), await cluster.namespace()];
  for (const namespace of [one, two, other]) await givenBinding(cluster.admin, namespace, 'a');
  const identity = await cluster.serviceAccount(one, 'operator');
  for (const namespace of [one, two]) await mayReadAll(cluster.admin, namespace, one);
  await using it = await followed({ cluster: await cluster.openAs(identity), namespaces: [one, two] });
  const found = it.source.list('ExternalBinding').map(({ metadata }) => metadata.namespace);
  expect(found.toSorted()).toEqual([one, two].toSorted());
  expect(it.source.get(keyOf(two, 'a'))).toBeDefined();
  expect(it.source.get(keyOf(other, 'a'))).toBeUndefined();
  expect(it.source.namespace(one)).toBeUndefined();
});

test('labels and the end of a namespace are told', async () => {
  await using cluster = await testCluster();
  await using it = await followed({ cluster: cluster.admin });
  const namespace = await cluster.namespace({ team: 'shop' });
  await eventually('it is known', () => it.source.namespace(namespace) !== undefined);
  expect(it.source.namespace(namespace)).toMatchObject({ labels: { team: 'shop' }, isTerminating: false });
  await deleted(cluster.admin, `/api/v1/namespaces/${namespace}`);
  await eventually('it is going', () => it.source.namespace(namespace)?.isTerminating !== false);
  expect(it.namespaces.filter((name) => name === namespace).length).toBeGreaterThanOrEqual(2);
});

const status = (more: object = {}) => ({
  observedGeneration: 1,
  conditions: [
    {
      type: 'Ready',
      status: 'True',
      reason: 'Succeeded',
      message: '',
      observedGeneration: 1,
      lastTransitionTime: '2026-05-17T12:00:00Z',
    },
  ],
  ...more,
});

test('the status is what was written last, and nothing of what was written before', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const resource = await givenBinding(cluster.admin, namespace, 'a');
  const source = openClusterSource({ cluster: cluster.admin, events: telemetry().events });
  await source.writeStatus(resource, status({ keyId: 'shop.a', secretName: 'a-eab' }), never);
  await source.writeStatus(resource, status({ keyId: 'shop.a' }), never);
  const written = await read(cluster.admin, `${bindingsPath(namespace)}/a`);
  expect(written.status).toEqual(status({ keyId: 'shop.a' }));
  expect(written.metadata).toMatchObject({
    managedFields: expect.arrayContaining([
      expect.objectContaining({ manager: 'acmery-status', operation: 'Apply', subresource: 'status' }),
    ]),
  });
});

test('a status is not written to an object that is gone, nor to another of its name', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const former = await givenBinding(cluster.admin, namespace, 'a');
  const source = openClusterSource({ cluster: cluster.admin, events: telemetry().events });
  await deleted(cluster.admin, `${bindingsPath(namespace)}/a`);
  await expect(source.writeStatus(former, status(), never)).rejects.toMatchObject({ refusal: 'gone' });
  await givenBinding(cluster.admin, namespace, 'a');
  await expect(source.writeStatus(former, status(), never)).rejects.toMatchObject({ refusal: 'gone' });
  const { status: kept } = await read(cluster.admin, `${bindingsPath(namespace)}/a`);
  expect(kept).toEqual({ observedGeneration: -1 });
});

test('a status is written although the object has changed meanwhile', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const seen = await givenBinding(cluster.admin, namespace, 'a');
  const path = `${bindingsPath(namespace)}/a`;
  const body = { spec: { name: 'renamed' } };
  await cluster.admin.request({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body });
  const source = openClusterSource({ cluster: cluster.admin, events: telemetry().events });
  await source.writeStatus(seen, status(), never);
  expect(await read(cluster.admin, path)).toMatchObject({ spec: { name: 'renamed' }, status: status() });
});

test('a status that another one has written meanwhile stays', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const seen = await givenBinding(cluster.admin, namespace, 'a');
  const [asleep, leading] = [0, 1].map(() => openClusterSource({ cluster: cluster.admin, events: telemetry().events }));
  await leading?.writeStatus(seen, { ...status(), observedGeneration: 2 }, never);
  // The objects that the two have read are not the same one in memory.
  await expect(asleep?.writeStatus({ ...seen }, status(), never)).rejects.toMatchObject({ refusal: 'conflict' });
  expect((await read(cluster.admin, `${bindingsPath(namespace)}/a`)).status).toMatchObject({ observedGeneration: 2 });
});

test('what is written after our own writes meets no newer version', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const user = `writer-${namespace}`;
  const resource = await givenBinding(cluster.admin, namespace, 'a');
  const client = await cluster.openAs({ user, groups: ['system:masters'] });
  const source = openClusterSource({ cluster: client, events: telemetry().events });
  const finalized = (await source.setFinalizer(resource, true, never)) ?? resource;
  await source.writeStatus(finalized, status({ secretName: 'one' }), never);
  await source.writeStatus(finalized, status({ secretName: 'two' }), never);
  await eventually('all is logged', async () => (await cluster.requestsOf(user)).length >= 3);
  expect((await cluster.requestsOf(user)).map(({ verb, status }) => [verb, status])).toEqual([
    ['patch', 200],
    ['patch', 200],
    ['patch', 200],
  ]);
});

test('a status that the schema does not allow is refused', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const resource = await givenBinding(cluster.admin, namespace, 'a');
  const source = openClusterSource({ cluster: cluster.admin, events: telemetry().events });
  const writing = source.writeStatus(resource, status({ secretName: 'x'.repeat(10_000) }), never);
  await expect(writing).rejects.toMatchObject({ refusal: 'refused' });
});

test('the finalizer is set and taken beside those of others, and only where nothing changed since', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const path = `${bindingsPath(namespace)}/a`;
  const seen = await givenBinding(cluster.admin, namespace, 'a', { finalizers: ['example.io/other'] });
  const source = openClusterSource({ cluster: cluster.admin, events: telemetry().events });
  const given = await source.setFinalizer(seen, true, never);
  const withOurs = await read(cluster.admin, path);
  expect(given?.metadata.resourceVersion).toBe(withOurs.metadata.resourceVersion);
  expect(withOurs.metadata.finalizers).toEqual(['example.io/other', FINALIZER]);

  await expect(source.setFinalizer(seen, true, never)).rejects.toMatchObject({ refusal: 'conflict' });
  await source.setFinalizer(withOurs, true, never);
  expect((await read(cluster.admin, path)).metadata.resourceVersion).toBe(withOurs.metadata.resourceVersion);

  await source.setFinalizer(withOurs, false, never);
  const withoutOurs = await read(cluster.admin, path);
  expect(withoutOurs.metadata.finalizers).toEqual(['example.io/other']);
  await source.setFinalizer(withoutOurs, true, never);
  await deleted(cluster.admin, path);
  const body = { metadata: { finalizers: null } };
  await cluster.admin.request({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body });
  expect(await source.setFinalizer({ ...withOurs }, false, never)).toBeUndefined();
});

test('a Secret is read with its values decoded, one that is not there as nothing, and a refusal is told', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  const body = { metadata: { name: 'root' }, data: { 'tls.key': Buffer.of(0, 255).toString('base64') } };
  await cluster.admin.request({ method: 'POST', path, body });
  const source = openClusterSource({ cluster: cluster.admin, events: telemetry().events });
  expect(await source.readSecret(namespace, 'root', never)).toEqual({ 'tls.key': Buffer.of(0, 255) });
  expect(await source.readSecret(namespace, 'missing', never)).toBeUndefined();
  const stranger = openClusterSource({ cluster: await cluster.openAs({ user: 'nobody' }), events: telemetry().events });
  await expect(stranger.readSecret(namespace, 'root', never)).rejects.toMatchObject({ refusal: 'unavailable' });
});

/** What the operator's Role in a namespace gives for reading. */
async function mayReadAll(admin: Parameters<typeof givenBinding>[0], namespace: string, of: string): Promise<void> {
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  const rules = [{ apiGroups: ['acmery.io'], resources: ['*'], verbs: ['get', 'list', 'watch'] }];
  await admin.request({ method: 'POST', path: `${rbac}/roles`, body: { metadata: { name: 'reader' }, rules } });
  const body = {
    metadata: { name: 'reader' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
    subjects: [{ kind: 'ServiceAccount', name: 'operator', namespace: of }],
  };
  await admin.request({ method: 'POST', path: `${rbac}/rolebindings`, body });
}
