// What an API server says of what the chart installs, and what is left when a release goes.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, expect, inject, test } from 'vitest';
import { chartFolder, chartManifests, helm, type Manifest, withoutHelm } from '../support/chart.ts';
import { chartCases } from '../support/chart-values.ts';
import { ownCluster, testCluster } from '../support/cluster.ts';

beforeEach(({ skip }) => {
  const reason = withoutHelm();
  if (reason !== undefined) skip(reason);
});

/** Kinds of others, which no API server has by itself. */
const isForeign = ({ apiVersion }: Manifest): boolean =>
  /^(monitoring\.coreos\.com|gateway\.networking\.k8s\.io)\//.test(apiVersion);

test.for(Object.entries(chartCases))(
  '%s is taken strictly, without a warning, where pods are restricted',
  async ([, values]) => {
    await using cluster = await testCluster();
    const namespace = await cluster.namespace({ 'pod-security.kubernetes.io/warn': 'restricted' });
    const watchNamespaces = await Promise.all(
      Array.from(Object(values.watchNamespaces ?? []), () => cluster.namespace()),
    );
    const trustManager = { namespace: values.trustManager === undefined ? '' : await cluster.namespace() };
    const given = { ...values, watchNamespaces, trustManager };
    const manifests = await chartManifests(given, { namespace, release: namespace });
    const list = { apiVersion: 'v1', kind: 'List', items: manifests.filter((manifest) => !isForeign(manifest)) };
    const strictly = ['--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict'];
    const { stdout, stderr } = await cluster.kubectl(['apply', ...strictly, '--warnings-as-errors', '-f', '-'], {
      input: JSON.stringify(list),
    });
    expect(stderr).toBe('');
    expect(stdout.trim().split('\n')).toHaveLength(list.items.length);
  },
);

test('a release is installed, upgraded, removed and installed again; kinds, CAs and their keys stay', async () => {
  await using own = await ownCluster();
  const { cluster } = own;
  const namespace = await cluster.namespace();
  const kubeconfig = cluster.adminKubeconfig;
  const run = (verb: string, ...args: string[]): Promise<string> =>
    helm([verb, 'ca', ...args, '-n', namespace], { kubeconfig });
  const values = ['--set', 'database.existingSecret=db', '--set-string'];
  const names = async (kind: string): Promise<string> =>
    (await cluster.kubectl(['get', kind, '-n', namespace, '-o', 'name'])).stdout;

  const notes = await run('install', chartFolder, ...values, 'publicUrl=https://acme.corp.example');
  expect(notes).toContain('https://acme.corp.example/acme/web/directory');
  const spec = { certType: 'root', keyAvailability: 'online', privateKeyType: 'ec_384' };
  const root = { apiVersion: 'acmery.io/v1', kind: 'SigningCert', metadata: { name: 'root' }, spec };
  await cluster.kubectl(['apply', '-n', namespace, '-f', '-'], { input: JSON.stringify(root) });
  await cluster.kubectl(['create', 'secret', 'generic', 'acmery-key', '-n', namespace, '--from-literal=tls.key=k']);

  await run('upgrade', chartFolder, ...values, 'resources.memory=1Gi');
  expect(await names('deployments')).toBe('deployment.apps/ca-acmery\n');
  await run('uninstall');
  // A kind that goes takes a while.
  const leaving = ['get', 'crds', '-o', 'jsonpath={.items[*].metadata.deletionTimestamp}'];
  expect((await cluster.kubectl(leaving)).stdout).toBe('');
  expect(await names('deployments')).toBe('');
  expect(await names('signingcerts')).toBe('signingcert.acmery.io/root\n');
  expect(await names('secrets')).toContain('secret/acmery-key\n');

  await run('install', chartFolder, ...values, 'resources.memory=1Gi');
  expect(await names('signingcerts')).toBe('signingcert.acmery.io/root\n');
  expect(await names('deployments')).toBe('deployment.apps/ca-acmery\n');
});

test('what the notes say to paste is taken by the kinds as they are', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const args = [
    'install',
    namespace,
    chartFolder,
    '-n',
    namespace,
    '--set',
    'crds.enabled=false,database.url=postgres://db/x',
  ];
  const notes = await helm([...args, '--dry-run=server'], { kubeconfig: cluster.adminKubeconfig });
  const pasted = notes.slice(
    notes.indexOf('\napiVersion: acmery.io/v1\n'),
    notes.indexOf('\napiVersion: cert-manager.io'),
  );
  const input = pasted.replaceAll('namespace: shop', `namespace: ${namespace}`);
  const { stdout } = await cluster.kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], { input });
  expect(stdout.trim().split('\n')).toHaveLength(4);
});

test('the plain manifests are applied in one go', async () => {
  await using own = await ownCluster();
  const helmProgram = inject('helm');
  if ('unavailable' in helmProgram) throw new Error(helmProgram.unavailable);
  const folder = await mkdtemp(join(tmpdir(), 'acmery-manifests-'));
  try {
    const script = join(import.meta.dirname, '../../scripts/install-yaml.ts');
    const env = { ...process.env, TEST_ASSET_HELM: helmProgram.path };
    await promisify(execFile)(process.execPath, [script], { cwd: folder, env });
    const apply = ['apply', '--server-side', '--validate=strict', '-f', join(folder, 'dist/install.yaml')];
    const { stdout } = await own.cluster.kubectl(apply);
    expect(stdout).toContain('deployment.apps/acmery serverside-applied');
    expect((await own.cluster.kubectl(apply)).stdout).toBe(stdout);
  } finally {
    await rm(folder, { recursive: true });
  }
});
