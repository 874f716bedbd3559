// The one pool of connections to an API server, made anew when what they are secured with has changed.
import { isDeepStrictEqual } from 'node:util';
import { Agent, type buildConnector, type Dispatcher, ProxyAgent } from 'undici';
import type { Access, Proof } from './access.ts';

export type Connections = {
  /** For requests that are answered and done. */
  readonly requests: Dispatcher;
  /** For watches, each of which keeps a connection, so that they never take those of requests. */
  readonly watches: Dispatcher;
};

type Secured = {
  readonly proxyUrl: string | undefined;
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly servername: string | undefined;
  readonly rejectUnauthorized: boolean;
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
/** Balancers in between often end what is silent for a minute. */
const keepAlive = { keepAlive: true, keepAliveInitialDelay: 30_000 } as const;

export class ConnectionPool implements AsyncDisposable {
  #secured: Secured | undefined;
  #connections: Connections | undefined;

  /** Those of the newest access; others are closed when their requests have ended. */
  get(access: Access, { certificate, key }: Pick<Proof, 'certificate' | 'key'>): Connections {
    const secured: Secured = {
      proxyUrl: access.proxyUrl,
      ca: access.authorities?.(),
      cert: certificate,
      key,
      servername: access.serverName,
      rejectUnauthorized: access.skipsVerification !== true,
    };
    if (this.#connections !== undefined && isDeepStrictEqual(secured, this.#secured)) return this.#connections;
    const made = { requests: dispatcherOf(secured, poolLimits), watches: dispatcherOf(secured, watchLimits) };
    void this.#connections?.requests.close();
    void this.#connections?.watches.close();
    this.#secured = secured;
    this.#connections = made;
    return made;
  }

  /** Requests still under way fail. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#connections?.requests.destroy(), this.#connections?.watches.destroy()]);
  }
}

function dispatcherOf({ proxyUrl, ...tls }: Secured, limits: typeof poolLimits | typeof watchLimits): Dispatcher {
  const requestTls = { ...withoutUndefined(tls), ...keepAlive };
  if (proxyUrl === undefined) return new Agent({ ...limits, connect: requestTls });
  if (!/^https?:/.test(proxyUrl))
    throw new Error(
      `its cluster is behind a proxy of kind ${new URL(proxyUrl).protocol} and only HTTP proxies are spoken to.`,
    );
  return new ProxyAgent({ ...limits, uri: proxyUrl, connect: keepAlive, requestTls });
}

/** An option that is there and undefined is not always as good as none. */
const withoutUndefined = (tls: Omit<Secured, 'proxyUrl'>): buildConnector.BuildOptions =>
  Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
