// Which programs a plane is made of: those that are named, found, downloaded or built, in this order.
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { withCacheLock } from './cache.ts';
import { archiveFolder, downloadArchive } from './envtest-archive.ts';
import { buildGoProgram, builtFolder, type GoProgram } from './go-build.ts';
import type { PlaneBinaries } from './plane.ts';

type Row = GoProgram & {
  readonly role: keyof PlaneBinaries;
  /** Names the program, as with controller-runtime's envtest. */
  readonly variable: string;
  readonly isInArchive: boolean;
};

const kubernetes = { module: 'go-kubernetes' } as const;

const rows: readonly Row[] = [
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

type Found = Partial<Record<keyof PlaneBinaries, string>>;
type Tell = (sentence: string) => void;

/** Throws, with every reason, when there is no way to a program that a plane cannot be without. */
export async function findBinaries(tell: Tell): Promise<PlaneBinaries> {
  const found = await look();
  if (missingFrom(found).length === 0) return complete(found, []);
  return withCacheLock(tell, async () => {
    // Whoever held the lock may have done it.
    const reasons: string[] = [];
    let now = await look();
    if (missingFrom(now).some(({ isInArchive }) => isInArchive)) {
      await downloadArchive(tell).catch((error: Error) => reasons.push(error.message));
      now = await look();
    }
    for (const row of missingFrom(now)) {
      await buildGoProgram(row, tell).catch((error: Error) => reasons.push(`${row.name}: ${error.message}`));
    }
    for (const reason of reasons) tell(reason);
    return complete(await look(), reasons);
  });
}

async function look(): Promise<Found> {
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

const missingFrom = (found: Found): readonly Row[] => rows.filter(({ role }) => found[role] === undefined);

function complete({ etcd, apiServer, kubectl, controllerManager }: Found, reasons: readonly string[]): PlaneBinaries {
  if (etcd !== undefined && apiServer !== undefined && kubectl !== undefined)
    return { etcd, apiServer, kubectl, ...(controllerManager !== undefined && { controllerManager }) };
  throw new Error(`there is no Kubernetes API server to test with: ${reasons.join('; ')}`);
}

const inFolder = (folder: string | undefined, name: string): string | undefined =>
  folder === undefined ? undefined : join(folder, name);

const isProgram = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
