// The access of a pod: the ServiceAccount files that Kubernetes mounts, and the address in the environment.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Access, Environment } from './access.ts';
import { fileText } from './file-text.ts';

export const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

export const isInPod = (folder: string): boolean => existsSync(join(folder, 'token'));

/** Token and authorities are read again when the kubelet has replaced them. */
export function podAccess(folder: string, environment: Environment): Access {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
  if (!host || !port)
    throw new Error(
      'KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, which Kubernetes gives to every pod, are not set.',
    );
  const token = fileText(join(folder, 'token'));
  const namespace = join(folder, 'namespace');
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    namespace: existsSync(namespace) ? readFileSync(namespace, 'utf8').trim() : undefined,
    authorities: fileText(join(folder, 'ca.crt')),
    proof: () => ({ headers: { authorization: `Bearer ${token().trim()}` } }),
  };
}
