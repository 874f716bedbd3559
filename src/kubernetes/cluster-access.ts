// Whether the API server answers, who we are to it, and whether we may do there what the program needs: for `doctor`.
import { kinds } from '../resources/kinds.ts';
import { API_VERSION, kindNames } from '../resources/resource.ts';
import type { Cluster } from './client.ts';
import { ClusterError } from './cluster-error.ts';
import { type ClusterNeeds, type Right, reviewRights, rightsOf } from './cluster-rights.ts';
import { orUndefined } from './source-errors.ts';

/** One thing looked at: a fact when it is well, else the problem and what to do about it. */
export type ClusterFinding =
  | { readonly subject: string; readonly fact: string }
  | { readonly subject: string; readonly problem: string; readonly remedy: string };

const OLDEST_MINOR = 30;
const TIMEOUT_MS = 5_000;

/** Finds, never throws but for an abort; what follows from a problem is not looked at. */
export async function checkClusterAccess(
  cluster: Cluster,
  needs: ClusterNeeds,
  signal: AbortSignal,
): Promise<readonly ClusterFinding[]> {
  const findings: ClusterFinding[] = [];
  for (const check of [serverVersion, identity, ourKinds, permissions]) {
    const finding = await check({ cluster, needs, signal }).catch(findingOf);
    findings.push(finding);
    if ('problem' in finding) break;
  }
  return findings;
}

/** Whether tokens of ServiceAccounts can be taken. Throws ClusterError. */
export async function mayReviewTokens(cluster: Cluster, signal: AbortSignal): Promise<boolean> {
  const answers = await Promise.all(reviewRights.map((right) => mayWe(cluster, right, signal)));
  return answers.every(Boolean);
}

type Context = { readonly cluster: Cluster; readonly needs: ClusterNeeds; readonly signal: AbortSignal };

async function serverVersion({ cluster, signal }: Context): Promise<ClusterFinding> {
  const subject = 'API server';
  const version = await cluster.request<{ major?: string; minor?: string; gitVersion?: string }>({
    method: 'GET',
    path: '/version',
    signal,
    timeoutMs: TIMEOUT_MS,
  });
  const fact = `${cluster.server} runs Kubernetes ${version.gitVersion}`;
  // Some distributions write the minor version as `30+`.
  return version.major === '1' && Number.parseInt(version.minor ?? '', 10) >= OLDEST_MINOR
    ? { subject, fact }
    : { subject, problem: `${fact}; 1.${OLDEST_MINOR} or newer is needed.`, remedy: 'Upgrade the cluster.' };
}

async function identity({ cluster, signal }: Context): Promise<ClusterFinding> {
  const review = await cluster.request<{ status?: { userInfo?: { username?: string } } }>({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    signal,
    timeoutMs: TIMEOUT_MS,
  });
  return { subject: 'identity', fact: `we are ${review.status?.userInfo?.username}` };
}

async function ourKinds({ cluster, signal }: Context): Promise<ClusterFinding> {
  const subject = 'custom resources';
  const remedy = 'Apply the CustomResourceDefinitions: `acmery manifests crds | kubectl apply --server-side -f -`.';
  const request = { method: 'GET', path: `/apis/${API_VERSION}`, signal, timeoutMs: TIMEOUT_MS } as const;
  const found = await orUndefined(cluster.request<{ resources?: readonly { readonly name: string }[] }>(request));
  const names = new Set(found?.resources?.map(({ name }) => name));
  const missing = kindNames.map((kind) => kinds[kind].plural).filter((plural) => !names.has(plural));
  return missing.length === 0
    ? { subject, fact: `${kindNames.join(', ')} are installed` }
    : { subject, problem: `${missing.join(', ')} of ${API_VERSION} are not installed.`, remedy };
}

async function permissions({ cluster, needs, signal }: Context): Promise<ClusterFinding> {
  const subject = 'permissions';
  const rights = rightsOf(needs);
  const answers = await Promise.all(rights.map((right) => mayWe(cluster, right, signal)));
  const missing = rights.filter((_, index) => answers[index] === false);
  const takesTokens = await mayReviewTokens(cluster, signal);
  // By Roles alone nobody may review tokens.
  if (!takesTokens && needs.watchNamespaces === undefined) missing.push(...reviewRights);
  if (missing.length > 0)
    return {
      subject,
      problem: `We may not: ${missing.map(titleOf).join(', ')}.`,
      remedy: 'Install the roles of the chart and bind them to this identity; docs/kubernetes.md lists the rights.',
    };
  const fact = `all ${rights.length + (takesTokens ? reviewRights.length : 0)} permissions that are needed`;
  return { subject, fact: takesTokens ? fact : `${fact}; /v1 takes API tokens only, since tokens cannot be reviewed` };
}

async function mayWe(
  cluster: Cluster,
  { verb, group, resource, subresource, namespace, name }: Right,
  signal: AbortSignal,
): Promise<boolean> {
  const resourceAttributes = {
    verb,
    group,
    resource,
    ...(subresource !== undefined && { subresource }),
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
  };
  const review = await cluster.request<{ status?: { allowed?: boolean } }>({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } },
    signal,
    timeoutMs: TIMEOUT_MS,
  });
  return review.status?.allowed === true;
}

const titleOf = ({ verb, group, resource, subresource, namespace }: Right): string => {
  const plural = [resource, ...(subresource === undefined ? [] : [subresource])].join('/');
  const title = `${verb} ${group === '' ? plural : `${plural}.${group}`}`;
  return namespace === undefined ? title : `${title} in ${namespace}`;
};

const remedies: Readonly<Record<string, string>> = {
  Unreachable: 'Check the address in the kubeconfig, the network and any proxy between.',
  Timeout: 'Check the network between here and the API server: something drops the packets.',
  NoCredentials: 'Correct the kubeconfig, or the plug-in that it runs.',
  NotKubernetes: 'Correct the address in the kubeconfig.',
  Unauthorized: 'Renew the token or certificate in the kubeconfig; in a cluster, restart the pod.',
  Forbidden: 'Let this identity use the API groups authentication.k8s.io and authorization.k8s.io.',
};

function findingOf(error: unknown): ClusterFinding {
  if (!(error instanceof ClusterError)) throw error;
  const remedy = remedies[error.reason] ?? 'Look into the log of the API server.';
  return { subject: 'API server', problem: error.message, remedy };
}
