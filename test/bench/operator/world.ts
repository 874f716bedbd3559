// A control plane and a Postgres of their own for a benchmark, and the program in processes of its own against both.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_VERSION } from '../../../src/resources/resource.ts';
import { type Program, type ServingAcmery, serveAcmery } from '../../support/acmery-process.ts';
import { Plane, type PlaneBinaries } from '../../support/plane/plane.ts';
import { ourCrds } from '../../support/plane/setup.ts';
import { TestCluster } from '../../support/plane/test-cluster.ts';
import { benchPostgres } from '../acme/server.ts';
import { followed } from './followed.ts';

export const NAMESPACE = 'acmery-system';
const SERVICE_ACCOUNT = 'acmery-bench';
/** The user of the program in the audit log. */
export const USER = `system:serviceaccount:${NAMESPACE}:${SERVICE_ACCOUNT}`;

export type World = AsyncDisposable & {
  readonly plane: Plane;
  readonly cluster: TestCluster;
  readonly databaseUrl: string;
  /** The process of Postgres. */
  readonly postgresPid: number;
  start(args?: readonly string[], env?: Readonly<Record<string, string>>, program?: Program): Promise<ServingAcmery>;
};

export async function openWorld(binaries: PlaneBinaries, crds: readonly string[]): Promise<World> {
  await using scope = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'acmery-bench-'));
  scope.defer(() => rm(folder, { recursive: true, force: true }));
  const plane = scope.use(await Plane.start(binaries, { crds: [...(await ourCrds()), ...crds] }));
  const cluster = scope.use(await TestCluster.at(plane.address));
  const postgres = await benchPostgres(scope, folder);
  await makeNamespace(cluster, NAMESPACE);
  const kubeconfig = await cluster.kubeconfigFor(await cluster.administrator(NAMESPACE, SERVICE_ACCOUNT));
  const env = {
    KUBECONFIG: kubeconfig,
    DATABASE_URL: postgres.url,
    ACMERY_NAMESPACE: NAMESPACE,
    ACMERY_PUBLIC_URL: 'https://acme.corp.example',
    ACMERY_HTTP_URL: 'http://pki.corp.example',
  };
  let started = 0;
  const opened = scope.move();
  return {
    plane,
    cluster,
    databaseUrl: postgres.url,
    postgresPid: postgres.pid,
    start: (args = [], more = {}, program = undefined) =>
      serveAcmery(join(folder, `data-${started++}`), ['--log-format', 'json', ...args], {
        env: { ...env, ...more },
        ...(program && { program }),
      }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

export const makeNamespace = ({ admin }: TestCluster, name: string): Promise<unknown> =>
  admin.request({
    method: 'POST',
    path: '/api/v1/namespaces',
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
  });

/** A root, an intermediate and a Directory that every namespace may use; resolves when it is ready. */
export async function givenDirectory({ admin }: TestCluster): Promise<void> {
  const at = `/apis/${API_VERSION}/namespaces/${NAMESPACE}`;
  await using directories = await followed(admin, `${at}/directories`);
  const cert = { keyAvailability: 'online', privateKeyType: 'ec_256' };
  const directory = { slug: 'web', signingCertRef: { name: 'issuing' }, allowedNamespaces: { from: 'All' } };
  for (const [kind, plural, name, spec] of [
    ['SigningCert', 'signingcerts', 'root', { ...cert, certType: 'root' }],
    ['SigningCert', 'signingcerts', 'issuing', { ...cert, certType: 'intermediate', signingCertRef: { name: 'root' } }],
    ['Directory', 'directories', 'web', directory],
  ] as const)
    await admin.request({
      method: 'POST',
      path: `${at}/${plural}`,
      body: { apiVersion: API_VERSION, kind, metadata: { name }, spec },
    });
  await directories.untilReady(['web']);
}

export const bindingOf = (name: string) => ({
  apiVersion: API_VERSION,
  kind: 'ExternalBinding',
  metadata: { name },
  spec: { directoryRef: { name: 'web', namespace: NAMESPACE } },
});

export const bindingsPath = (namespace: string): string =>
  `/apis/${API_VERSION}/namespaces/${namespace}/externalbindings`;
