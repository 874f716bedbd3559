// Who we are to an API server, by kubeconfig or as a pod, and the connections that go with it.
import type { Access, Environment, Proof } from './access.ts';
import { ClusterError } from './cluster-error.ts';
import type { Connections } from './connections.ts';
import { kubeconfigAccess } from './kubeconfig.ts';
import { podAccess } from './pod-access.ts';

export type Credentials = {
  readonly address: Address;
  readonly namespace: string | undefined;
  /** Reads files that have changed, and runs an exec plug-in whose token has expired. Throws `NoCredentials`. */
  authenticate(): Promise<Authentication>;
};

/** `basePath` stands before every path, and ends in no slash. */
type Address = {
  readonly server: string;
  readonly origin: string;
  readonly host: string;
  readonly basePath: string;
};

type Authentication = Connections & Pick<Proof, 'headers'>;

export type CredentialsSource = AsyncDisposable & {
  /** Everything anew: files are read and exec plug-ins run. Throws ClusterError `NoCredentials`. */
  load(): Promise<Credentials>;
};

type Place =
  /** A kubeconfig path, or several as in KUBECONFIG. */
  | { readonly kubeconfig: string; readonly environment: Environment }
  /** The ServiceAccount of this pod. */
  | { readonly kubeconfig?: undefined; readonly serviceAccount: string; readonly environment: Environment };

export async function openCredentials(place: Place): Promise<CredentialsSource> {
  // It loads the HTTP client: only where there is a cluster.
  const { ConnectionPool } = await import('./connections.ts');
  const pool = new ConnectionPool();

  const explained = async <T>(work: () => T | Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      const from = place.kubeconfig === undefined ? 'the ServiceAccount of this pod' : `kubeconfig ${place.kubeconfig}`;
      const why = error instanceof Error ? error.message : String(error);
      throw new ClusterError(0, 'NoCredentials', `Cannot use ${from}: ${why}`, { cause: error });
    }
  };

  const load = async (): Promise<Credentials> => {
    const access = accessOf(place);
    const authenticate = async (): Promise<Authentication> => {
      const proof = await access.proof();
      return { headers: proof.headers, ...pool.get(access, proof) };
    };
    // Once now, before many at a time do it: a plug-in runs once and its token is kept.
    await authenticate();
    const { server, namespace } = access;
    return { address: addressOf(server), namespace, authenticate: () => explained(authenticate) };
  };

  return { load: () => explained(load), [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose]() };
}

const accessOf = (place: Place): Access =>
  place.kubeconfig === undefined
    ? podAccess(place.serviceAccount, place.environment)
    : kubeconfigAccess(place.kubeconfig, place.environment);

function addressOf(server: string): Address {
  const { origin, host, pathname } = new URL(server);
  return { server, origin, host, basePath: pathname.replace(/\/$/, '') };
}
