// The command lines of the plane's programs: loopback only, RBAC on, nothing that survives a test run.
import { join } from 'node:path';

export type Ports = {
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly apiServer: number;
  readonly controllerManager: number;
};

const issuer = 'https://kubernetes.default.svc';

/** What tests need of the controllers: garbage collection, the end of namespaces, ServiceAccounts, aggregated roles. */
const controllers = [
  'garbage-collector-controller',
  'namespace-controller',
  'serviceaccount-controller',
  'serviceaccount-token-controller',
  'root-ca-certificate-publisher-controller',
  'clusterrole-aggregation-controller',
];

export function etcdArgs(folder: string, ports: Ports): readonly string[] {
  const client = `http://127.0.0.1:${ports.etcd}`;
  const peer = `http://127.0.0.1:${ports.etcdPeer}`;
  return flags({
    'data-dir': join(folder, 'etcd'),
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `default=${peer}`,
    'unsafe-no-fsync': 'true',
    'log-level': 'warn',
  });
}

export const apiServerArgs = (folder: string, ports: Ports): readonly string[] =>
  flags({
    'etcd-servers': `http://127.0.0.1:${ports.etcd}`,
    'bind-address': '127.0.0.1',
    'advertise-address': '127.0.0.1',
    'endpoint-reconciler-type': 'none',
    'secure-port': `${ports.apiServer}`,
    'cert-dir': folder,
    'tls-cert-file': join(folder, 'tls.crt'),
    'tls-private-key-file': join(folder, 'tls.key'),
    'client-ca-file': join(folder, 'ca.crt'),
    'authorization-mode': 'RBAC',
    'anonymous-auth': 'false',
    'service-account-issuer': issuer,
    'api-audiences': issuer,
    'service-account-key-file': join(folder, 'service-accounts.pub'),
    'service-account-signing-key-file': join(folder, 'service-accounts.key'),
    'service-cluster-ip-range': '10.0.0.0/24',
    // There are no nodes, so no pod ever asks for its ServiceAccount.
    'disable-admission-plugins': 'ServiceAccount',
    'allow-privileged': 'true',
    'audit-policy-file': join(folder, 'audit-policy.json'),
    'audit-log-path': join(folder, 'audit.log'),
  });

export function controllerManagerArgs(folder: string, ports: Ports): readonly string[] {
  const kubeconfig = join(folder, 'controller-manager.kubeconfig');
  return flags({
    kubeconfig,
    'authentication-kubeconfig': kubeconfig,
    'authorization-kubeconfig': kubeconfig,
    'authentication-skip-lookup': 'true',
    'use-service-account-credentials': 'true',
    'leader-elect': 'false',
    'bind-address': '127.0.0.1',
    'secure-port': `${ports.controllerManager}`,
    'cert-dir': folder,
    'root-ca-file': join(folder, 'ca.crt'),
    'service-account-private-key-file': join(folder, 'service-accounts.key'),
    controllers: controllers.join(','),
  });
}

/** Who asked for what and what came of it, but not the plane's own work. */
export const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived', 'ResponseStarted'],
  rules: [
    { level: 'None', users: ['system:apiserver', 'system:kube-controller-manager'] },
    { level: 'None', userGroups: ['system:serviceaccounts:kube-system'] },
    { level: 'Metadata' },
  ],
};

const flags = (values: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(values).map(([name, value]) => `--${name}=${value}`);
