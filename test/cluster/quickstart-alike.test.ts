// The quickstart with kubectl and a cluster, and as a folder without one: the same comes of it, by the program as users run it.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import { type ServingAcmery, serveAcmery } from '../support/acmery-process.ts';
import { ownCluster } from '../support/cluster.ts';
import { testDatabase } from '../support/database.ts';
import type { Live } from '../support/declared-chain.ts';
import { eventually } from '../support/eventually.ts';
import { ourCrds } from '../support/plane/setup.ts';
import { copyQuickstart } from '../support/quickstart.ts';

const NAMESPACE = 'acmery-system';
const urls = {
  ACMERY_NAMESPACE: NAMESPACE,
  ACMERY_PUBLIC_URL: 'https://acme.corp.example',
  ACMERY_HTTP_URL: 'http://pki.corp.example',
};
const kinds = 'signingcerts,directories,externalbindings,acmekeys';

test('kubectl apply and a folder of manifests come to the same', async () => {
  await using scope = new AsyncDisposableStack();
  // Of its own: the namespace of the quickstart is taken in the one that tests share.
  const { cluster } = scope.use(await ownCluster({ crds: await ourCrds() }));
  const folder = await mkdtemp(join(tmpdir(), 'acmery-quickstart-'));
  scope.defer(() => rm(folder, { recursive: true, force: true }));
  const serve = async (name: string, env: Readonly<Record<string, string>>): Promise<ServingAcmery> => {
    const { url } = scope.use(await testDatabase());
    const given = { env: { ...urls, DATABASE_URL: url, ...env } };
    const acmery = scope.use(await serveAcmery(join(folder, name), ['--log-format', 'json'], given));
    await acmery.untilReady();
    return acmery;
  };

  await cluster.kubectl(['create', 'namespace', NAMESPACE]);
  await serve('cluster', { KUBECONFIG: cluster.adminKubeconfig, ACMERY_WATCH_NAMESPACES: NAMESPACE });
  await cluster.kubectl(['apply', '-f', 'examples/quickstart']);
  await cluster.kubectl(['wait', '-n', NAMESPACE, '--for=condition=Ready', 'eab/shop', '--timeout=60s']);
  const get = async <T>(what: string): Promise<T> =>
    JSON.parse((await cluster.kubectl(['get', '-n', NAMESPACE, ...what.split(' '), '-o', 'json'])).stdout);
  const { items: applied } = await get<{ items: readonly Live[] }>(kinds);
  expect(applied.map(({ kind, metadata: { name } }) => `${kind} ${name}`).sort()).toEqual([
    'Directory web',
    'ExternalBinding shop',
    'SigningCert corp-issuing',
    'SigningCert corp-root',
  ]);

  const manifests = join(folder, 'manifests');
  await copyQuickstart(manifests);
  await serve('alone', { ACMERY_MANIFESTS: manifests });
  const declared = (): Promise<readonly Live[]> => statusFiles(join(manifests, '.status'));
  await eventually('the folder is ready', async () => {
    const objects = await declared();
    return objects.length === applied.length && objects.every(isReady);
  });

  const sameOf = (objects: readonly Live[]) =>
    objects.map(comparable).sort((one, other) => (one.id < other.id ? -1 : 1));
  expect(sameOf(await declared())).toEqual(sameOf(applied));

  const { data: pair } = await get<{ data: Record<string, string> }>('secret shop-eab');
  const { data: trust } = await get<{ data: Record<string, string> }>('configmap web-acme');
  const ofCluster = Object.fromEntries(
    Object.entries(pair).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
  );
  const outputs = join(folder, 'alone', 'outputs', NAMESPACE);
  for (const [files, data] of [
    [await values(join(outputs, 'shop-eab')), ofCluster],
    [await values(join(outputs, 'web-acme')), trust],
  ] as const) {
    expect(shapeOf(files)).toEqual(shapeOf(data));
  }
  expect(ofCluster).toMatchObject({ kid: 'shop', directory: 'https://acme.corp.example/acme/web/directory' });
  expect(ofCluster.secret).toHaveLength(43);
});

const isReady = ({ status }: Live): boolean =>
  status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;

/** What differs from one service to the next: keys and what follows from them, and where a key lies. */
const own = ['id', 'signingCertId', 'serial', 'fingerprint', 'publicCert', 'notBefore', 'notAfter', 'caaTag'];
const ownToo = ['secretHash', 'secretName'];

function comparable({ kind, metadata: { name, generation, finalizers = [] }, spec, status }: Live) {
  const shown = Object.entries(status).filter(([field]) => field !== 'conditions');
  return {
    id: `${kind} ${name}`,
    generation,
    finalizers,
    spec,
    fields: Object.fromEntries(
      shown.map(([field, value]) => {
        const isOwn =
          own.includes(field) || (ownToo.includes(field) && kind === 'SigningCert') || field === 'secretHash';
        return [field, isOwn ? 'its own' : value];
      }),
    ),
    conditions: (status.conditions ?? [])
      .map(({ type, status, reason, observedGeneration }) => ({ type, status, reason, observedGeneration }))
      .sort((one, other) => (one.type < other.type ? -1 : 1)),
  };
}

const shapeOf = (data: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => {
      const isPem = value.startsWith('-----BEGIN');
      return [key, isPem ? value.split('\n')[0] : key === 'secret' ? value.length : value];
    }),
  );

async function statusFiles(folder: string): Promise<readonly Live[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.yaml'));
  return Promise.all(names.map(async (name) => load(await readFile(join(folder, name), 'utf8')) as Live));
}

async function values(folder: string): Promise<Readonly<Record<string, string>>> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.'));
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const)),
  );
}
