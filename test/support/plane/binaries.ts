// Which programs a plane is made of: those that are named, found, downloaded or built, in this order.
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { withCacheLock } from './cache.ts';
import { certManagerCrdFile } from './cert-manager.ts';
import { archiveFolder, downloadArchive } from './envtest-archive.ts';
import { buildGoProgram, builtFolder, type GoProgram } from './go-build.ts';
import type { PlaneBinaries } from './plane.ts';

type Role = keyof PlaneBinaries | 'certManager' | 'helm' | 'promtool' | 'kstatus';

type Row = GoProgram & {
  readonly role: Role;
  /** Names the program, as with controller-runtime's envtest. */
  readonly variable: string;
  readonly isInArchive: boolean;
};

const kubernetes = { module: 'go-kubernetes' } as const;

const planeRows: readonly Row[] = [
  {
    role: 'etcd',
    name: 'etcd',
    variable: 'TEST_ASSET_ETCD',
    module: 'go-etcd',
    package: 'go.etcd.io/etcd/server/v3',
    cpuMinutes: 2,
    isInArchive: true,
  },
  {
    ...kubernetes,
    role: 'apiServer',
    name: 'kube-apiserver',
    variable: 'TEST_ASSET_KUBE_APISERVER',
    package: 'k8s.io/kubernetes/cmd/kube-apiserver',
    cpuMinutes: 7,
    isInArchive: true,
  },
  {
    ...kubernetes,
    role: 'kubectl',
    name: 'kubectl',
    variable: 'TEST_ASSET_KUBECTL',
    package: 'k8s.io/kubernetes/cmd/kubectl',
    cpuMinutes: 2,
    isInArchive: true,
  },
  {
    ...kubernetes,
    role: 'controllerManager',
    name: 'kube-controller-manager',
    variable: 'TEST_ASSET_KUBE_CONTROLLER_MANAGER',
    package: 'k8s.io/kubernetes/cmd/kube-controller-manager',
    cpuMinutes: 6,
    isInArchive: false,
  },
];

const certManager: Row = {
  role: 'certManager',
  name: 'cert-manager-controller',
  variable: 'TEST_ASSET_CERT_MANAGER',
  module: 'go-cert-manager',
  package: '.',
  cpuMinutes: 5,
  isInArchive: false,
  yaml: { module: 'github.com/cert-manager/cert-manager', folder: 'deploy/crds', file: certManagerCrdFile },
};

const helm: Row = {
  role: 'helm',
  name: 'helm',
  variable: 'TEST_ASSET_HELM',
  module: 'go-helm',
  package: 'helm.sh/helm/v4/cmd/helm',
  cpuMinutes: 4,
  isInArchive: false,
};

const promtool: Row = {
  role: 'promtool',
  name: 'promtool',
  variable: 'TEST_ASSET_PROMTOOL',
  module: 'go-prometheus',
  package: 'github.com/prometheus/prometheus/cmd/promtool',
  cpuMinutes: 8,
  // Rules are checked without finding anything to scrape.
  tags: 'remove_all_sd',
  isInArchive: false,
};

const kstatus: Row = {
  role: 'kstatus',
  name: 'kstatus',
  variable: 'TEST_ASSET_KSTATUS',
  module: 'go-kstatus',
  package: '.',
  cpuMinutes: 2,
  isInArchive: false,
};

type Found = Partial<Record<Role, string>>;
type Tell = (sentence: string) => void;

/** Throws, with the reasons, when there is no way to a program that a plane cannot be without. */
export async function findBinaries(tell: Tell): Promise<PlaneBinaries> {
  const { found, reasons } = await obtain(planeRows, tell);
  const { etcd, apiServer, kubectl, controllerManager } = found;
  if (etcd !== undefined && apiServer !== undefined && kubectl !== undefined)
    return { etcd, apiServer, kubectl, ...(controllerManager !== undefined && { controllerManager }) };
  throw new Error(`there is no Kubernetes API server to test with: ${reasons.join('; ')}`);
}

const finder = (row: Row) => async (tell: Tell) => {
  const { found, reasons } = await obtain([row], tell);
  const path = found[row.role];
  if (path !== undefined) return path;
  throw new Error(`there is no ${row.name} to test with: ${reasons.join('; ')}`);
};

/** The paths of single programs. Each throws, with the reason, when it cannot be had. */
export const findCertManager = finder(certManager);
export const findHelm = finder(helm);
export const findPromtool = finder(promtool);
export const findKstatus = finder(kstatus);

async function obtain(rows: readonly Row[], tell: Tell): Promise<{ found: Found; reasons: readonly string[] }> {
  const found = await look(rows);
  if (missingFrom(rows, found).length === 0) return { found, reasons: [] };
  return withCacheLock(tell, async () => {
    const reasons: string[] = [];
    // Whoever held the lock may have done it.
    let now = await look(rows);
    if (missingFrom(rows, now).some(({ isInArchive }) => isInArchive)) {
      await downloadArchive(tell).catch((error: Error) => reasons.push(error.message));
      now = await look(rows);
    }
    try {
      for (const row of missingFrom(rows, now)) await buildGoProgram(row, tell);
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error));
    }
    for (const reason of reasons) tell(reason);
    return { found: await look(rows), reasons };
  });
}

async function look(rows: readonly Row[]): Promise<Found> {
  const found: Found = {};
  for (const row of rows) {
    const places = [
      process.env[row.variable],
      inFolder(process.env.KUBEBUILDER_ASSETS, row.name),
      inFolder(builtFolder(row.module), row.name),
      inFolder('/usr/local/kubebuilder/bin', row.name),
      inFolder(archiveFolder, row.name),
    ];
    for (const place of places) {
      if (place === undefined || !(await isProgram(place))) continue;
      found[row.role] = place;
      break;
    }
  }
  return found;
}

const missingFrom = (rows: readonly Row[], found: Found): readonly Row[] =>
  rows.filter(({ role }) => found[role] === undefined);

const inFolder = (folder: string | undefined, name: string): string | undefined =>
  folder === undefined ? undefined : join(folder, name);

const isProgram = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
