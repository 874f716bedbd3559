// The ways in which a test can break a plane of its own, and the network before it.
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Cluster } from '../../src/kubernetes/client.ts';
import { ClusterError } from '../../src/kubernetes/cluster-error.ts';
import { ownCluster, testCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

test('an API server that is restarted has lost nothing', async () => {
  await using own = await ownCluster();
  const namespace = await own.cluster.namespace();
  await own.plane.restartApiServer();
  await own.plane.restartApiServer('SIGKILL');
  const found = await own.cluster.admin.request({ method: 'GET', path: `/api/v1/namespaces/${namespace}` });
  expect(found).toMatchObject({ metadata: { name: namespace } });
});

test('a frozen API server answers again when it is thawed', async () => {
  await using own = await ownCluster();
  const { admin } = own.cluster;
  own.plane.apiServer.freeze();
  await expect(version(admin, 300)).rejects.toMatchObject({ reason: 'Timeout' });
  own.plane.apiServer.thaw();
  expect(await version(admin, 10_000)).toMatchObject({ major: '1' });
});

test('a watch from before history was forgotten is refused with 410', async () => {
  await using own = await ownCluster();
  const { admin } = own.cluster;
  const { metadata } = await admin.request<{ metadata: { resourceVersion: string } }>({
    method: 'GET',
    path: '/api/v1/namespaces',
  });
  await own.cluster.namespace();
  await own.plane.forgetHistory();
  const path = `/api/v1/namespaces?watch=true&timeoutSeconds=1&resourceVersion=${metadata.resourceVersion}`;
  expect(await codeOf(admin, path)).toBe(410);
});

test('an option of the API server is passed on: watches end early', async () => {
  await using own = await ownCluster({ apiServerArgs: ['--min-request-timeout=1'] });
  const begun = performance.now();
  await codeOf(own.cluster.admin, '/api/v1/namespaces?watch=true');
  expect(performance.now() - begun).toBeLessThan(20_000);
});

test('dependents of a kind that was there from the start are collected with their owner', async ({ skip }) => {
  await using own = await ownCluster({ crds: [widgets] });
  if (!own.cluster.hasControllers) skip('there is no kube-controller-manager');
  const { admin } = own.cluster;
  const namespace = await own.cluster.namespace();
  const { metadata } = await admin.request<{ metadata: { uid: string } }>({
    method: 'POST',
    path: `/apis/example.acmery.io/v1/namespaces/${namespace}/widgets`,
    body: { apiVersion: 'example.acmery.io/v1', kind: 'Widget', metadata: { name: 'owner' } },
  });
  const owner = { apiVersion: 'example.acmery.io/v1', kind: 'Widget', name: 'owner', uid: metadata.uid };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'owned', ownerReferences: [owner] } };
  await admin.request({ method: 'POST', path: `/api/v1/namespaces/${namespace}/secrets`, body: secret });
  await own.cluster.kubectl(['delete', 'widget', 'owner', '-n', namespace]);
  await eventually(
    'the Secret is collected',
    async () => (await codeOf(admin, `/api/v1/namespaces/${namespace}/secrets/owned`)) === 404,
  );
});

test('a plane that ends leaves neither a process nor a folder', async () => {
  const own = await ownCluster();
  const { server } = own.cluster;
  const { folder } = own.plane.address;
  await own[Symbol.asyncDispose]();
  expect(existsSync(folder)).toBe(false);
  await expect(fetch(server)).rejects.toThrow('fetch failed');
});

test('a silenced connection carries nothing and stays open, and after mending only new ones work', async () => {
  await using cluster = await testCluster();
  await using proxy = await TcpProxy.to({ host: '127.0.0.1', port: Number(new URL(cluster.server).port) });
  await proxy.mend();
  const client = await cluster.openAs({ user: 'behind-proxy' }, { server: `https://127.0.0.1:${proxy.port}` });
  await version(client, 10_000);
  proxy.silence();
  await expect(version(client, 300)).rejects.toMatchObject({ reason: 'Timeout' });
  await proxy.mend();
  expect(await version(client, 10_000)).toMatchObject({ major: '1' });
});

const version = (client: Cluster, timeoutMs: number): Promise<unknown> =>
  client.request({ method: 'GET', path: '/version', timeoutMs });

/** The status, or that of the first event of a watch. */
async function codeOf(client: Cluster, path: string): Promise<number> {
  try {
    const reply = await client.request<{ type?: string; object?: { code?: number } } | undefined>({
      method: 'GET',
      path,
    });
    return reply?.object?.code ?? 200;
  } catch (error) {
    if (error instanceof ClusterError) return error.code;
    throw error;
  }
}

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.acmery.io }
spec:
  group: example.acmery.io
  scope: Namespaced
  names: { kind: Widget, plural: widgets, singular: widget }
  versions:
    - name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object } }
`;
