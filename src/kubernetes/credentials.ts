// Who we are to an API server: kubeconfig or ServiceAccount by client-node, and the one pool of connections that goes with it.
import { delimiter } from 'node:path';
import type { Cluster as ClusterEntry, DispatcherOptions, KubeConfig } from '@kubernetes/client-node';
import type { buildConnector, Dispatcher } from 'undici';
import { ClusterError } from './cluster-error.ts';

export type Credentials = {
  readonly server: string;
  readonly namespace: string | undefined;
  /** Reads files that may have changed, and runs an exec plug-in whose token has expired. Throws `NoCredentials`. */
  authenticate(): Promise<Authentication>;
};

type Authentication = {
  readonly headers: Readonly<Record<string, string>>;
  /** For requests that are answered and done. */
  readonly dispatcher: Dispatcher;
  /** For watches, each of which keeps a connection, so that they never take those of requests. */
  readonly watchDispatcher: Dispatcher;
};

export type CredentialsSource = AsyncDisposable & {
  /** Everything anew: files are read and exec plug-ins run. Throws ClusterError `NoCredentials`. */
  load(): Promise<Credentials>;
};

type TlsOptions = Parameters<KubeConfig['createDispatcherOptions']>[1];

/** `createDispatcher` is private in the types; the test that counts connections notices if it is no longer called. */
type OpenKubeConfig = new () => { [Name in keyof KubeConfig]: KubeConfig[Name] } & {
  createDispatcher(cluster: ClusterEntry | null, tls: TlsOptions): Dispatcher | undefined;
};

const poolLimits = {
  connections: 32,
  keepAliveTimeout: 45_000,
  headersTimeout: 30_000,
  bodyTimeout: 90_000,
  // One black-holed HTTP/2 connection would block every stream on it.
  allowH2: false,
} as const;
// Who reads a watch says how long it may be silent.
const watchLimits = { ...poolLimits, connections: null, bodyTimeout: 0 } as const;

/** A kubeconfig path, or several as in KUBECONFIG; undefined: the ServiceAccount of this pod. */
export async function openCredentials(kubeconfig: string | undefined): Promise<CredentialsSource> {
  // Half a second and 60 MB, paid only where there is a cluster.
  const { HttpMethod, KubeConfig, RequestContext } = await import('@kubernetes/client-node');
  const { Agent, ProxyAgent } = await import('undici');
  const pool = new DispatcherMemo();

  // client-node makes a dispatcher for each request, so that no connection is used twice; here all requests share one.
  class PooledKubeConfig extends (KubeConfig as unknown as OpenKubeConfig) {
    override createDispatcher(cluster: ClusterEntry | null, tls: TlsOptions): Dispatcher | undefined {
      const options = this.createDispatcherOptions(cluster, tls);
      return pool.get(keyOf(cluster, options), (limits) => {
        switch (options.type) {
          case 'agent':
            return new Agent({ ...limits, connect: connectOptions(options.connect) });
          case 'none':
            return new Agent(limits);
          case 'proxy':
            return new ProxyAgent({
              ...limits,
              uri: options.uri,
              connect: connectOptions(options.connect),
              requestTls: connectOptions(options.requestTls),
            });
          case 'socks':
            return super.createDispatcher(cluster, tls);
        }
      });
    }
  }

  const read = (): PooledKubeConfig => {
    const config = new PooledKubeConfig();
    if (kubeconfig === undefined) config.loadFromCluster();
    else {
      const [first = '', ...others] = kubeconfig.split(delimiter);
      config.loadFromFile(first);
      for (const path of others) {
        const other = new KubeConfig();
        other.loadFromFile(path);
        // As kubectl does: the first file that names a context decides.
        config.mergeConfig(other, Boolean(config.getCurrentContext()));
      }
    }
    return config;
  };

  const explained = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      const source = kubeconfig === undefined ? 'the ServiceAccount of this pod' : `kubeconfig ${kubeconfig}`;
      const why = error instanceof Error ? error.message : String(error);
      throw new ClusterError(0, 'NoCredentials', `Cannot use ${source}: ${why}`, { cause: error });
    }
  };

  const load = async (): Promise<Credentials> => {
    const config = read();
    const server = config.getCurrentCluster()?.server;
    if (server === undefined || !URL.canParse(server))
      throw new Error(`its current context names no cluster with a usable address (${server}).`);
    const authenticate = async (): Promise<Authentication> => {
      const context = new RequestContext(server, HttpMethod.GET);
      await config.applySecurityAuthentication(context);
      const dispatcher = context.getDispatcher();
      if (dispatcher === undefined) throw new Error('client-node made no dispatcher.');
      return { headers: context.getHeaders(), dispatcher, watchDispatcher: pool.watchesOf(dispatcher) ?? dispatcher };
    };
    // Once now, before many at a time do it: a plug-in runs once and its token is kept.
    await authenticate();
    const namespace = config.getContextObject(config.currentContext)?.namespace;
    return { server, namespace, authenticate: () => explained(authenticate) };
  };

  return { load: () => explained(load), [Symbol.asyncDispose]: () => pool.close() };
}

type Limits = typeof poolLimits | typeof watchLimits;

/** The dispatchers of the newest options; those of other options are closed when their requests have ended. */
class DispatcherMemo {
  #key: string | undefined;
  #requests: Dispatcher | undefined;
  #watches: Dispatcher | undefined;
  readonly #watchesOf = new WeakMap<Dispatcher, Dispatcher>();

  get(key: string, make: (limits: Limits) => Dispatcher | undefined): Dispatcher | undefined {
    if (key !== this.#key) {
      const [requests, watches] = [make(poolLimits), make(watchLimits)];
      void this.#requests?.close();
      void this.#watches?.close();
      this.#key = key;
      this.#requests = requests;
      this.#watches = watches;
      if (requests !== undefined && watches !== undefined) this.#watchesOf.set(requests, watches);
    }
    return this.#requests;
  }

  /** Those that were made together with these. */
  watchesOf(requests: Dispatcher): Dispatcher | undefined {
    return this.#watchesOf.get(requests);
  }

  async close(): Promise<void> {
    await Promise.all([this.#requests?.destroy(), this.#watches?.destroy()]);
  }
}

/** The types of undici and Node differ only in whether an absent option may be written as undefined. */
const connectOptions = (options: object): buildConnector.BuildOptions => options as buildConnector.BuildOptions;

function keyOf(cluster: ClusterEntry | null, options: DispatcherOptions): string {
  const tls = options.type === 'agent' ? options.connect : options.type === 'none' ? {} : options.requestTls;
  const values = Object.entries(tls).map(([name, value]) => [
    name,
    Buffer.isBuffer(value) ? value.toString('base64') : value,
  ]);
  return JSON.stringify([cluster?.name, cluster?.proxyUrl, options.type, values]);
}
