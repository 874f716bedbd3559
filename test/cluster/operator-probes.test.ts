// What the probes say of a program in a cluster.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { serveAcmery } from '../support/acmery-process.ts';
import { testCluster } from '../support/cluster.ts';
import { testDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

test('it is ready once it knows all objects, and lives meanwhile', async () => {
  await using cluster = await testCluster();
  await using database = await testDatabase();
  const namespace = await cluster.namespace();
  const identity = await cluster.serviceAccount(namespace, 'acmery');
  const bind = (role: string) =>
    cluster.kubectl(['create', 'rolebinding', 'acmery', '-n', namespace, role, `--serviceaccount=${namespace}:acmery`]);
  // Secrets and leases, no objects of ours. Of the roles that are there, others may have made more.
  const resources = '--resource=secrets,leases.coordination.k8s.io';
  await cluster.kubectl(['create', 'role', 'keeper', '-n', namespace, '--verb=*', resources]);
  await bind('--role=keeper');
  await using scope = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'acmery-probes-'));
  scope.defer(() => rm(dataDir, { recursive: true, force: true }));
  const env = {
    KUBECONFIG: await cluster.kubeconfigFor(identity, { namespace }),
    DATABASE_URL: database.url,
    ACMERY_WATCH_NAMESPACES: namespace,
    ACMERY_PUBLIC_URL: 'https://acme.corp.example',
    ACMERY_HTTP_URL: 'http://pki.corp.example',
  };
  const acmery = scope.use(await serveAcmery(dataDir, ['--log-format', 'json'], { env }));
  const unready = async () =>
    (await acmery.ready().catch(() => ({ text: '' }))).text.split('\n').filter((line) => line.startsWith('[-]'));
  const onlyObjectsAreMissing = async (): Promise<boolean> => {
    const lines = await unready();
    return lines.length === 1 && lines[0]?.startsWith('[-]declared objects failed') === true;
  };
  // A process of its own starts first.
  await eventually('only the objects are missing', onlyObjectsAreMissing, 40_000);
  expect((await fetch(`${acmery.opsUrl}/livez`)).status).toBe(200);
  await cluster.kubectl(['delete', 'rolebinding', 'acmery', '-n', namespace]);
  await bind('--clusterrole=cluster-admin');
  await acmery.untilReady();
}, 120_000);
