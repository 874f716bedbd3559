// The chart: how long Helm renders it, and from `helm install` to the first certificate that cert-manager gets. There is no
// kubelet here: once Helm is done the bundle runs as the pod would, with its variables and the rights of its ServiceAccount.
import { execFile } from 'node:child_process';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Program } from '../support/acmery-process.ts';
import { serveAcmery } from '../support/acmery-process.ts';
import { eventually } from '../support/eventually.ts';
import { findBinaries, findCertManager, findHelm } from '../support/plane/binaries.ts';
import { certManagerCrds, startCertManager } from '../support/plane/cert-manager.ts';
import { freePorts } from '../support/plane/free-ports.ts';
import { Plane, type PlaneBinaries } from '../support/plane/plane.ts';
import { TestCluster } from '../support/plane/test-cluster.ts';
import { blockOfFile, kubectlAs, runBlocks } from '../support/walkthrough.ts';
import { type BenchPostgres, benchPostgres, temporaryFolder } from './acme/server.ts';
import { builtBundle } from './bundle.ts';
import { type Figure, spread } from './figure.ts';

const RENDERINGS = 7;
const NAMESPACE = 'acmery-system';
const RELEASE = 'acmery';
const chart = join(import.meta.dirname, '../../charts/acmery');
const tell = (sentence: string): void => console.log(`  ${sentence}`);

export async function benchInstall(): Promise<readonly Figure[]> {
  try {
    const [helm, certManager] = [await findHelm(tell), await findCertManager(tell)];
    return [await rendered(helm), await installed(helm, certManager, await findBinaries(tell))];
  } catch (error) {
    return [{ what: 'the chart', measured: '-', goal: `skipped, ${error instanceof Error ? error.message : error}` }];
  }
}

async function rendered(helm: string): Promise<Figure> {
  const seconds: number[] = [];
  for (let run = 0; run < RENDERINGS; run++) {
    const begun = performance.now();
    await promisify(execFile)(helm, ['template', RELEASE, chart, '--set', 'database.existingSecret=db']);
    seconds.push((performance.now() - begun) / 1_000);
  }
  return { what: 'helm template', measured: spread(seconds, 's'), goal: 'goal 1 s' };
}

async function installed(helm: string, certManager: string, binaries: PlaneBinaries): Promise<Figure> {
  await using scope = new AsyncDisposableStack();
  const folder = await temporaryFolder(scope, 'install');
  const program = await builtBundle(folder);
  const postgres = await benchPostgres(scope, folder);
  const plane = scope.use(await Plane.start(binaries, { crds: [await certManagerCrds(certManager)] }));
  const cluster = scope.use(await TestCluster.at(plane.address));
  scope.use(await startCertManager(certManager, plane.address));
  const { acme: port } = await freePorts(['acme']);
  const publicUrl = `https://${ownAddress()}:${port}`;

  const begun = performance.now();
  const values = [
    `publicUrl=${publicUrl}`,
    'httpUrl=http://pki.corp.example',
    'certManager.injection=true',
    'database.existingSecret=db',
  ];
  const args = ['install', RELEASE, chart, '-n', NAMESPACE, '--create-namespace', '--set', values.join(',')];
  await promisify(execFile)(helm, args, { env: { ...process.env, KUBECONFIG: cluster.adminKubeconfig } });
  const installedMs = performance.now() - begun;
  const pod = { cluster, program, postgres, dataDir: join(folder, 'data'), port };
  await using _ = await runPod(pod);
  const [declare = '', enrol = ''] = await Promise.all(
    ['kubectl', 'cert-manager'].map((name) => blockOfFile('README.md', name)),
  );
  const enrolHere = enrol.replaceAll('https://acme.corp.example', publicUrl);
  await runBlocks([kubectlAs(binaries.kubectl, cluster.adminKubeconfig), declare, enrolHere]);
  const seconds = (performance.now() - begun) / 1_000;
  return {
    what: 'helm install to the first certificate of cert-manager',
    measured: `${seconds.toFixed(1)} s (Helm ${(installedMs / 1_000).toFixed(1)} s)`,
    goal: 'goal 30 s',
  };
}

type Pod = {
  readonly cluster: TestCluster;
  readonly program: Program;
  readonly postgres: BenchPostgres;
  readonly dataDir: string;
  readonly port: number;
};

type Container = { readonly env: readonly { readonly name: string; readonly value?: string }[] };

/** Resolves when it is ready. */
async function runPod({ cluster, program, postgres, dataDir, port }: Pod): Promise<AsyncDisposable> {
  const path = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${RELEASE}`;
  const { spec } = await cluster.admin.request<{
    spec: { template: { spec: { serviceAccountName: string; containers: readonly [Container] } } };
  }>({ method: 'GET', path });
  const { serviceAccountName: serviceAccount, containers } = spec.template.spec;
  const usual = Object.fromEntries(containers[0].env.flatMap(({ name, value }) => (value ? [[name, value]] : [])));
  const { ACMERY_DATA_DIR: _, ...env } = usual;
  const acmery = await serveAcmery(dataDir, ['--acme-listen', `0.0.0.0:${port}`], {
    program,
    env: {
      ...env,
      POD_NAMESPACE: NAMESPACE,
      POD_NAME: 'acmery-0',
      DATABASE_URL: postgres.url,
      KUBECONFIG: await cluster.kubeconfigFor({ namespace: NAMESPACE, serviceAccount }, { namespace: NAMESPACE }),
    },
  });
  await eventually(
    'the pod is ready',
    async () => (await acmery.ready().catch(() => undefined))?.status === 200,
    60_000,
  );
  return acmery;
}

/** At which cert-manager reaches this machine: URLs of loopback are refused where there is a cluster. */
function ownAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const found = addresses.find(({ family, internal }) => family === 'IPv4' && !internal);
  if (found === undefined) throw new Error('this machine has no address but loopback');
  return found.address;
}
