// The chart as Helm renders it, and its roles in a cluster of tests: whoever talks to the API server there does it as shipped.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { loadAll } from 'js-yaml';
import { inject } from 'vitest';
import type { Identity, TestCluster } from './plane/test-cluster.ts';
import { untilBound } from './rbac.ts';

export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string } & Readonly<Record<string, unknown>>;
} & Readonly<Record<string, unknown>>;

/** Of values.yaml. */
export type ChartValues = Readonly<Record<string, unknown>>;
type Release = { readonly namespace?: string; readonly release?: string };

export const chartFolder = join(import.meta.dirname, '../../charts/acmery');

/** What a release cannot be without. */
const leastValues: ChartValues = { database: { existingSecret: 'acmery-db-app' } };

/** Why tests of the chart cannot run here; undefined where they can. `beforeEach(({ skip }) => skip(...))` takes it. */
export function withoutHelm(): string | undefined {
  const helm = inject('helm');
  return 'unavailable' in helm ? helm.unavailable : undefined;
}

/** What is installed, in Helm's order. Rejects with Helm's words where it refuses the values. */
export async function chartManifests(values: ChartValues = {}, release: Release = {}): Promise<readonly Manifest[]> {
  const documents = loadAll(await chartText(values, release));
  return documents.filter((document): document is Manifest => document !== null && document !== undefined);
}

/** As `helm template` prints it. */
export function chartText(
  values: ChartValues = {},
  { namespace = 'acmery-system', release = 'acmery' }: Release = {},
): Promise<string> {
  const args = ['template', release, chartFolder, '--namespace', namespace, '--values', '-'];
  return helm(args, { input: JSON.stringify({ ...leastValues, ...values }) });
}

/** What Helm prints. Rejects with its standard error. */
export async function helm(
  args: readonly string[],
  { input = '', kubeconfig }: { readonly input?: string; readonly kubeconfig?: string } = {},
): Promise<string> {
  const provided = inject('helm');
  if ('unavailable' in provided) throw new Error(provided.unavailable);
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...(kubeconfig && { KUBECONFIG: kubeconfig }) };
  const child = spawn(provided.path, args, { stdio: ['pipe', 'pipe', 'pipe'], env });
  const { promise: ended, resolve, reject } = Promise.withResolvers<number | null>();
  child.on('error', reject).on('close', resolve);
  // It may end without reading.
  child.stdin.on('error', () => undefined).end(input);
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code !== 0) throw new Error(`helm ${args.join(' ')} ended with ${code}:\n${stderr}${stdout}`);
  return stdout;
}

const ofRights = [
  'ServiceAccount',
  'Role',
  'RoleBinding',
  'ClusterRole',
  'ClusterRoleBinding',
] as const satisfies readonly string[];

export type InstalledRights = {
  /** Of the Deployment with all roles, or of that of one. */
  readonly identityOf: (role?: 'server' | 'worker' | 'operator') => Identity;
  /** Names of ClusterRoles begin with it. */
  readonly fullname: string;
};

/**
 * Puts the ServiceAccounts and roles of a release into a namespace, which is that of the release. Nothing else of the chart.
 * Resolves when they have an effect.
 * `cluster.openAs(rights.identityOf())` is the program as it is installed.
 */
export async function installRights(
  cluster: TestCluster,
  namespace: string,
  values: ChartValues = {},
): Promise<InstalledRights> {
  // ClusterRoles of two tests must not have one name.
  const fullname = namespace;
  const manifests = await chartManifests({ ...values, fullnameOverride: fullname }, { namespace, release: namespace });
  const rights = manifests.filter(({ kind }) => ofRights.some((one) => one === kind));
  const list = { apiVersion: 'v1', kind: 'List', items: rights };
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(list) });
  await untilBound(cluster, rights);
  const identityOf = (role?: string): Identity => ({
    namespace,
    serviceAccount: role === undefined ? fullname : `${fullname}-${role}`,
  });
  return { identityOf, fullname };
}
