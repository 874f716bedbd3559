// The ways in which a test can break a plane of its own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import type { Cluster } from '../../src/kubernetes/client.ts';
import { ClusterError } from '../../src/kubernetes/cluster-error.ts';
import { ownCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';

test('an API server that is restarted has lost nothing', async () => {
  await using own = await ownCluster();
  const namespace = await own.cluster.namespace();
  await own.plane.restartApiServer();
  const found = await own.cluster.admin.request({ method: 'GET', path: `/api/v1/namespaces/${namespace}` });
  expect(found).toMatchObject({ metadata: { name: namespace } });
});

test('a frozen API server answers again when it is thawed', async () => {
  await using own = await ownCluster();
  const { admin } = own.cluster;
  await version(admin, 10_000);
  own.plane.apiServer.freeze();
  await expect(version(admin, 300)).rejects.toMatchObject({ reason: 'Timeout' });
  own.plane.apiServer.thaw();
  expect(await version(admin, 10_000)).toMatchObject({ major: '1' });
});

test('a list or watch from before history was forgotten is refused with 410', async () => {
  await using own = await ownCluster();
  const { admin } = own.cluster;
  const { metadata } = await admin.request<{ metadata: { resourceVersion: string } }>({
    method: 'GET',
    path: '/api/v1/namespaces',
  });
  await own.cluster.namespace();
  const { resourceVersion } = metadata;
  const list = `/api/v1/namespaces?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`;
  expect(await codeOf(admin, list)).toBe(200);
  await own.plane.forgetHistory();
  expect(await codeOf(admin, list)).toBe(410);
  const watch = `/api/v1/namespaces?watch=true&timeoutSeconds=1&resourceVersion=${resourceVersion}`;
  expect(await codeOf(admin, watch)).toBe(410);
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
  await eventually('nothing listens', async () => (await failureOf(server)) === 'ECONNREFUSED');
});

test('a plane ends with the process that started it, however that ends', async () => {
  const plane = inject('plane');
  if ('unavailable' in plane) throw new Error(plane.unavailable);
  const script = join(import.meta.dirname, '../support/run-plane.ts');
  const child = spawn(process.execPath, [script, JSON.stringify(plane.binaries)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = await once(child.stdout, 'data');
  const { folder, server } = JSON.parse(String(said));
  child.kill('SIGKILL');
  await eventually('its folder is gone', () => !existsSync(folder));
  await eventually('nothing listens', async () => (await failureOf(server)) === 'ECONNREFUSED');
});

const version = (client: Cluster, timeoutMs: number): Promise<unknown> =>
  client.request({ method: 'GET', path: '/version', timeoutMs });

/** Of a connection to an address; undefined when it succeeds. */
async function failureOf(url: string): Promise<string | undefined> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  try {
    await once(socket, 'connect');
    return undefined;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  } finally {
    socket.destroy();
  }
}

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
