// The program as a release of the chart has it in a cluster of tests: the rights of its ServiceAccount, a database, and
// objects of a class of its own, so that several releases do not disturb each other.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunOptions, type ServingAcmery, serveAcmery } from './acmery-process.ts';
import { type ChartValues, type InstalledRights, installRights } from './chart.ts';
import { eventually } from './eventually.ts';
import type { AuditedRequest } from './plane/audit.ts';
import { type TestCluster, userNameOf } from './plane/test-cluster.ts';

type LogLine = { readonly level: string; readonly message: string } & Readonly<Record<string, unknown>>;

type Item = Readonly<Record<string, unknown>>;

export type ServingOperator = ServingAcmery & {
  /** What it has logged so far, from `info` on. */
  lines(): readonly LogLine[];
  /** The items of a collection of /v1. */
  listed(collection: string, query?: Readonly<Record<string, string>>): Promise<readonly Item[]>;
};

type ServeOptions = {
  /** A proxy's, in the place of the API server's. */
  readonly server?: string;
  readonly databaseUrl: string;
} & Pick<RunOptions, 'acmeAddress' | 'env'>;

export type InstalledOperator = {
  /** Of the release: keys of CAs and the lease lie there. */
  readonly namespace: string;
  /** The label that objects for it carry. */
  readonly labels: Readonly<Record<string, string>>;
  /** By which the API server knows it. */
  readonly user: string;
  readonly rights: InstalledRights;
  /** Starts a replica: `replica-1`, `replica-2`, ... */
  serve(options: ServeOptions): Promise<ServingOperator>;
  requests(): Promise<readonly AuditedRequest[]>;
  /** Requests that changed something, but for those of the lease. */
  writes(): Promise<readonly AuditedRequest[]>;
  /** Who leads: the name of a pod. */
  leader(): Promise<string | undefined>;
};

const BOOTSTRAP_TOKEN = 'a bootstrap token as long as needed'.replaceAll(' ', '-');
const writing = ['create', 'update', 'patch', 'delete', 'deletecollection'];
/** Reviews are questions. */
const unlasting = ['leases', 'tokenreviews', 'subjectaccessreviews', 'selfsubjectaccessreviews'];

export async function installOperator(cluster: TestCluster, values: ChartValues = {}): Promise<InstalledOperator> {
  const namespace = await cluster.namespace();
  const rights = await installRights(cluster, namespace, values);
  const identity = rights.identityOf();
  const user = userNameOf(identity);
  const requests = (): Promise<readonly AuditedRequest[]> => cluster.requestsOf(user);
  let replicas = 0;
  return {
    namespace,
    labels: { 'acmery.io/class': namespace },
    user,
    rights,
    async serve({ server, databaseUrl, acmeAddress, env = {} }) {
      await using scope = new AsyncDisposableStack();
      const dataDir = await mkdtemp(join(tmpdir(), 'acmery-operator-'));
      scope.defer(() => rm(dataDir, { recursive: true, force: true }));
      const given = {
        KUBECONFIG: await cluster.kubeconfigFor(identity, { namespace, ...(server && { server }) }),
        POD_NAMESPACE: namespace,
        POD_NAME: `replica-${++replicas}`,
        DATABASE_URL: databaseUrl,
        ACMERY_RESOURCE_CLASS: namespace,
        ACMERY_PUBLIC_URL: 'https://acme.corp.example',
        ACMERY_HTTP_URL: 'http://pki.corp.example',
        ACMERY_BOOTSTRAP_TOKEN: BOOTSTRAP_TOKEN,
        ...env,
      };
      const options = { env: given, ...(acmeAddress && { acmeAddress }) };
      const acmery = scope.use(await serveAcmery(dataDir, ['--log-format', 'json'], options));
      const lines = linesOf(acmery);
      await acmery.untilReady();
      const resources = scope.move();
      return {
        ...acmery,
        lines,
        async listed(collection, query = {}) {
          const authorization = `Bearer ${BOOTSTRAP_TOKEN}`;
          const { status, body } = await acmery.api(
            `/v1/${collection}?${new URLSearchParams({ limit: '200', ...query })}`,
            {
              authorization,
            },
          );
          if (status !== 200) throw new Error(`GET /v1/${collection}: ${status} ${body}`);
          return JSON.parse(body).collection;
        },
        [Symbol.asyncDispose]: () => resources.disposeAsync(),
      };
    },
    requests,
    async writes() {
      const all = await requests();
      return all.filter(
        ({ verb, resource = '', status }) => writing.includes(verb) && !unlasting.includes(resource) && status < 400,
      );
    },
    async leader() {
      const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/acmery`;
      const lease = await cluster.admin.request<{ spec: { holderIdentity: string } }>({ method: 'GET', path });
      return lease.spec.holderIdentity.split('_')[0];
    },
  };
}

/** Nobody was refused anything: the chart gives every right that the program uses. */
export const refusalsOf = (requests: readonly AuditedRequest[]): readonly AuditedRequest[] =>
  requests.filter(({ status }) => status === 403);

/** A replica that still runs as the process that it was, and has met nothing that it did not know. */
export function troublesOf({ child, lines }: ServingOperator): readonly unknown[] {
  const ended = child.exitCode ?? child.signalCode;
  const bugs = lines().filter(
    ({ message }) => message === 'internal error' || message.startsWith('a custom resource could not be'),
  );
  return ended === null ? bugs : [`it ended with ${ended}`, ...bugs];
}

/** The leader of several, once there is one among them. */
export async function untilLeads(operator: InstalledOperator, pod: string, deadlineMs = 30_000): Promise<void> {
  await eventually(`${pod} leads`, async () => (await operator.leader().catch(() => undefined)) === pod, deadlineMs);
}

function linesOf({ child }: ServingAcmery): () => readonly LogLine[] {
  const lines: LogLine[] = [];
  let rest = '';
  child.stderr?.on('data', (text: string) => {
    const parts = `${rest}${text}`.split('\n');
    rest = parts.pop() ?? '';
    // What is no JSON is what Node says of a crash.
    for (const part of parts) lines.push(part.startsWith('{') ? JSON.parse(part) : { level: 'none', message: part });
  });
  return () => lines;
}
