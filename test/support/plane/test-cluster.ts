// What a test does with a plane: namespaces of its own, clients as anybody, kubectl, and who asked the API server for what.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cluster } from '../../../src/kubernetes/client.ts';
import { type AuditedRequest, readAudit } from './audit.ts';
import { applyCrds } from './crds.ts';
import { adminKubeconfig, openKubeconfig, writeKubeconfig } from './kubeconfig.ts';
import { type Kubectl, kubectlOf } from './kubectl.ts';
import { issueUser } from './pki.ts';
import type { PlaneAddress } from './plane.ts';

export type Identity =
  | { readonly serviceAccount: string; readonly namespace: string; readonly audiences?: readonly string[] }
  | { readonly user: string; readonly groups?: readonly string[] };

type Via = {
  /** Instead of the API server's own address: that of a proxy. */
  readonly server?: string;
  /** Of the kubeconfig's context. */
  readonly namespace?: string;
};

const TOKEN_SECONDS = 86_400;

export class TestCluster implements AsyncDisposable {
  readonly server: string;
  /** PEM. */
  readonly caCert: string;
  readonly adminKubeconfig: string;
  /** May do everything. */
  readonly admin: Cluster;
  /** False where kube-controller-manager could not be had: no garbage collection, no end of namespaces. */
  readonly hasControllers: boolean;
  /** As the administrator, unless `--kubeconfig` is among the arguments. */
  readonly kubectl: Kubectl;
  readonly #folder: string;
  readonly #resources = new AsyncDisposableStack();

  private constructor({ server, folder, kubectl, hasControllers }: PlaneAddress, caCert: string, admin: Cluster) {
    this.server = server;
    this.caCert = caCert;
    this.adminKubeconfig = adminKubeconfig(folder);
    this.admin = this.#resources.use(admin);
    this.hasControllers = hasControllers;
    this.kubectl = kubectlOf(kubectl, this.adminKubeconfig);
    this.#folder = folder;
  }

  static async at(plane: PlaneAddress): Promise<TestCluster> {
    const caCert = await readFile(join(plane.folder, 'ca.crt'), 'utf8');
    return new TestCluster(plane, caCert, await openKubeconfig(adminKubeconfig(plane.folder)));
  }

  /** A new namespace; what is in it ends with the plane. */
  async namespace(labels: Readonly<Record<string, string>> = {}): Promise<string> {
    const name = `test-${randomBytes(5).toString('hex')}`;
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
    await this.admin.request({ method: 'POST', path: '/api/v1/namespaces', body });
    return name;
  }

  async serviceAccount(namespace: string, name: string): Promise<Identity> {
    const body = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } };
    await this.admin.request({ method: 'POST', path: `/api/v1/namespaces/${namespace}/serviceaccounts`, body });
    return { serviceAccount: name, namespace };
  }

  /** May do everything, and proves it as pods do: certificates cost the API server more with every request. */
  async administrator(namespace: string, name: string): Promise<Identity> {
    const identity = await this.serviceAccount(namespace, name);
    const subject = `--serviceaccount=${namespace}:${name}`;
    await this.kubectl([
      'create',
      'clusterrolebinding',
      `${namespace}-${name}`,
      '--clusterrole=cluster-admin',
      subject,
    ]);
    return identity;
  }

  /** A token as pods have it; `audiences` are the API server's when none are named. */
  async token(namespace: string, serviceAccount: string, audiences?: readonly string[]): Promise<string> {
    const spec = { expirationSeconds: TOKEN_SECONDS, ...(audiences && { audiences }) };
    const { status } = await this.admin.request<{ status: { token: string } }>({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`,
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec },
    });
    return status.token;
  }

  /** The path of a new kubeconfig. */
  async kubeconfigFor(identity: Identity, { server = this.server, namespace }: Via = {}): Promise<string> {
    const as =
      'user' in identity
        ? await issueUser(this.#folder, identity.user, identity.groups ?? [])
        : { token: await this.token(identity.namespace, identity.serviceAccount, identity.audiences) };
    return writeKubeconfig(this.#folder, { server, namespace, as });
  }

  /** A client that ends with the test cluster. */
  async openAs(identity: Identity, via: Via = {}): Promise<Cluster> {
    return this.#resources.use(await openKubeconfig(await this.kubeconfigFor(identity, via)));
  }

  /** YAML. Garbage collection knows kinds that come after the controllers started only half a minute later. */
  applyCrds(yaml: string): Promise<void> {
    return applyCrds(this.admin, yaml);
  }

  /** What a user asked for so far. The newest line may be a moment late. */
  requestsOf(user: string): Promise<readonly AuditedRequest[]> {
    return readAudit(this.#folder, user);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources[Symbol.asyncDispose]();
  }
}

/** The name by which RBAC and the audit log know an identity. */
export const userNameOf = (identity: Identity): string =>
  'user' in identity ? identity.user : `system:serviceaccount:${identity.namespace}:${identity.serviceAccount}`;
