// Whether the API server answers, who we are to it, and whether we may do there what the program needs: for `doctor`.
import type { Cluster } from './client.ts';
import { ClusterError } from './cluster-error.ts';

/** One thing looked at: a fact when it is well, else the problem and what to do about it. */
export type ClusterFinding =
  | { readonly subject: string; readonly fact: string }
  | { readonly subject: string; readonly problem: string; readonly remedy: string };

type Right = {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly isNamespaced: boolean;
};

const rights: readonly Right[] = [
  // CA keys are Secrets.
  ...['get', 'list', 'create', 'delete'].map((verb) => ({ verb, group: '', resource: 'secrets', isNamespaced: true })),
  // Leadership among replicas.
  ...['get', 'create', 'update'].map((verb) => ({
    verb,
    group: 'coordination.k8s.io',
    resource: 'leases',
    isNamespaced: true,
  })),
  // ServiceAccount tokens of /v1 callers.
  { verb: 'create', group: 'authentication.k8s.io', resource: 'tokenreviews', isNamespaced: false },
  { verb: 'create', group: 'authorization.k8s.io', resource: 'subjectaccessreviews', isNamespaced: false },
];

const OLDEST_MINOR = 30;
const TIMEOUT_MS = 5_000;

/** `namespace` is the release namespace. Finds, never throws but for an abort; what follows from a problem is not looked at. */
export async function checkClusterAccess(
  cluster: Cluster,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly ClusterFinding[]> {
  const findings: ClusterFinding[] = [];
  for (const check of [serverVersion, identity, permissions]) {
    const finding = await check({ cluster, namespace, signal }).catch(findingOf);
    findings.push(finding);
    if ('problem' in finding) break;
  }
  return findings;
}

type Context = { readonly cluster: Cluster; readonly namespace: string; readonly signal: AbortSignal };

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

async function permissions(context: Context): Promise<ClusterFinding> {
  const subject = 'permissions';
  const answers = await Promise.all(rights.map(async (right) => ({ right, isAllowed: await mayWe(right, context) })));
  const missing = answers.filter(({ isAllowed }) => !isAllowed).map(({ right }) => `${right.verb} ${titleOf(right)}`);
  return missing.length === 0
    ? { subject, fact: `all ${rights.length} that are needed in namespace ${context.namespace} and cluster-wide` }
    : {
        subject,
        problem: `We may not: ${missing.join(', ')}.`,
        remedy: `Bind a Role in namespace ${context.namespace} (secrets, leases) and ClusterRole system:auth-delegator (reviews) to this identity.`,
      };
}

async function mayWe(
  { verb, group, resource, isNamespaced }: Right,
  { cluster, namespace, signal }: Context,
): Promise<boolean> {
  const resourceAttributes = { verb, group, resource, ...(isNamespaced && { namespace }) };
  const review = await cluster.request<{ status?: { allowed?: boolean } }>({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } },
    signal,
    timeoutMs: TIMEOUT_MS,
  });
  return review.status?.allowed === true;
}

const titleOf = ({ group, resource }: Right): string => (group === '' ? resource : `${resource}.${group}`);

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
