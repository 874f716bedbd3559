// The cluster, where one is configured: whether its API server answers, who we are there and what we may do.
import { processEnvironment } from '../../config/load.ts';
import { type Finding, failed, ok, type Patient, skipped } from './finding.ts';

const DEADLINE_MS = 15_000;
const DEFAULT_NAMESPACE = 'acmery-system';

export async function checkCluster({ settings }: Patient): Promise<Finding> {
  const { openCluster } = await import('../../kubernetes/client.ts');
  const { checkClusterAccess } = await import('../../kubernetes/cluster-access.ts');
  await using cluster = await openCluster({ kubeconfig: settings.kubeconfig, environment: processEnvironment() });
  if (cluster === undefined) return skipped('no cluster is configured (KUBECONFIG is not set, and we run in none)');
  const namespace = cluster.namespace ?? DEFAULT_NAMESPACE;
  const findings = await checkClusterAccess(cluster, namespace, AbortSignal.timeout(DEADLINE_MS));
  const problem = findings.find((finding) => 'problem' in finding);
  if (problem !== undefined) return failed(`${problem.subject}: ${problem.problem}`, problem.remedy);
  return ok(findings.map((finding) => ('fact' in finding ? finding.fact : '')).join('; '));
}
