// cert-manager's controller against a plane: its kinds, and its program.
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PlaneAddress } from './plane.ts';
import { Program } from './program.ts';
import { TestCluster } from './test-cluster.ts';

/** Beside the program. */
export const certManagerCrdFile = 'crds.yaml';

/** Where Secrets of ClusterIssuers are. */
const namespace = 'cert-manager';

export const certManagerCrds = (program: string): Promise<string> =>
  readFile(join(dirname(program), certManagerCrdFile), 'utf8');

/** Its kinds must be there. It works as an administrator. */
export async function startCertManager(program: string, plane: PlaneAddress): Promise<AsyncDisposable> {
  await using cluster = await TestCluster.at(plane);
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
  await cluster.admin.request({ method: 'POST', path: '/api/v1/namespaces', body });
  const kubeconfig = await cluster.kubeconfigFor(await cluster.administrator(namespace, 'cert-manager'));
  const args = [`--kubeconfig=${kubeconfig}`, `--cluster-resource-namespace=${namespace}`];
  const controller = new Program(program, args, plane.folder);
  await controller.start();
  return controller;
}
