// The cluster, where one is configured: whether its API server answers and knows our kinds, who we are there and what we may do.
import { releaseNamespace } from '../../app/namespaces.ts';
import { processEnvironment } from '../../config/load.ts';
import type { Settings } from '../../config/settings.ts';
import type { Cluster } from '../../kubernetes/client.ts';
import { type Finding, failed, ok, type Patient, skipped } from './finding.ts';

const DEADLINE_MS = 15_000;

export async function openPatientCluster({ kubeconfig }: Settings): Promise<Cluster | undefined> {
  const { openCluster } = await import('../../kubernetes/client.ts');
  return openCluster({ kubeconfig, environment: processEnvironment() });
}

export async function checkCluster({ settings, cluster: open }: Patient): Promise<Finding> {
  if (settings.manifests !== undefined) return skipped(`the folder ${settings.manifests} is in its place`);
  const cluster = await open();
  if (cluster === undefined) return skipped('no cluster is configured (KUBECONFIG is not set, and we run in none)');
  const { checkClusterAccess } = await import('../../kubernetes/cluster-access.ts');
  const needs = {
    namespace: releaseNamespace(settings, cluster.namespace),
    watchNamespaces: settings.watchNamespaces,
    isInjecting: settings.certManagerInjection === 'on',
    followsSecrets: settings.secretsWatch === 'on',
    trustNamespace: settings.trustNamespace,
  };
  const findings = await checkClusterAccess(cluster, needs, AbortSignal.timeout(DEADLINE_MS));
  const problem = findings.find((finding) => 'problem' in finding);
  if (problem !== undefined) return failed(`${problem.subject}: ${problem.problem}`, problem.remedy);
  return ok(findings.map((finding) => ('fact' in finding ? finding.fact : '')).join('; '));
}
