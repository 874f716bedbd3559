// Kubeconfig files for the plane: as a user with a certificate, or as a ServiceAccount with a token.
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Cluster, openCluster } from '../../../src/kubernetes/client.ts';
import type { KeyPair } from './pki.ts';

type Access = {
  readonly server: string;
  /** Of the context. */
  readonly namespace?: string | undefined;
  readonly as: KeyPair | { readonly token: string };
};

/** Writes it into the plane's folder, under a name of its own unless one is given, and returns the path. */
export async function writeKubeconfig(
  folder: string,
  { server, namespace, as }: Access,
  name: string = randomBytes(6).toString('hex'),
): Promise<string> {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const user =
    'token' in as ? as : { 'client-certificate-data': base64(as.certificate), 'client-key-data': base64(as.key) };
  const ca = await readFile(join(folder, 'ca.crt'), 'utf8');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'plane', cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: 'user', user }],
    contexts: [{ name: 'plane', context: { cluster: 'plane', user: 'user', ...(namespace && { namespace }) } }],
    'current-context': 'plane',
  };
  const path = join(folder, `${name}.kubeconfig`);
  // JSON is YAML.
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

export const adminKubeconfig = (folder: string): string => join(folder, 'admin.kubeconfig');

/** Throws ClusterError `NoCredentials`. */
export async function openKubeconfig(path: string): Promise<Cluster> {
  const cluster = await openCluster({ kubeconfig: path });
  if (cluster === undefined) throw new Error(`${path} names no cluster`);
  return cluster;
}
