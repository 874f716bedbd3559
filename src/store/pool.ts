// The pool of connections: limits, libpq's ways of encryption, and errors that say where the database was looked for.
import pg from 'pg';
import type { ConnectionTarget, Encryption } from './connection.ts';
import { connectError } from './database-error.ts';
import { type NamedClient, namedClient } from './named-client.ts';

export type PoolLimits = {
  readonly maxConnections: number;
  /** Kept by the server, and a little later by us, whatever a session sets: 0, no limit, is for migrations. */
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly transactionIdleTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** What runs when the database is closed may take so long to finish. */
  readonly closeTimeoutMs: number;
};

/**
 * Every statement is written for an index, rows are wanted in its order and a page at a time. A bitmap scan reads all there
 * are and sorts them, and statistics that are old, or of an average value, make it look cheap; a plan made while a table
 * was small would go on reading all of it. And no statement here is worth compiling. So each has one good plan, which is
 * made once a connection: made for each value it costs as much as the statement, and for a list several times that.
 */
export const PLANNER_OPTIONS =
  '-c enable_bitmapscan=off -c enable_seqscan=off -c jit=off -c plan_cache_mode=force_generic_plan';
/** After so long without traffic the kernel asks whether the server is still there. */
const KEEP_ALIVE_MS = 30_000;
/** How much later than the server we give up on a statement: by then the connection itself is dead. */
const GRACE_MS = 5_000;

/** Connections of a pool at this moment, and those who wait for one. */
export type PoolUse = {
  readonly size: number;
  readonly inUse: number;
  readonly waiting: number;
  readonly limit: number;
};

/** What Kysely asks of a pool, and single connections beside it. */
export class ConnectionPool {
  readonly #target: ConnectionTarget;
  readonly #config: pg.ClientConfig;
  readonly #pool: pg.Pool;
  readonly #Client: ReturnType<typeof namedClient>;
  readonly #inUse = new Set<pg.PoolClient>();
  readonly #limit: number;
  readonly #closeTimeoutMs: number;
  #encryptions: readonly [Encryption, ...Encryption[]];
  #chosen = 0;
  #isEnding = false;

  constructor(
    target: ConnectionTarget,
    limits: PoolLimits,
    applicationName: string,
    onIdleError: (error: Error) => void,
  ) {
    this.#target = target;
    this.#limit = limits.maxConnections;
    this.#closeTimeoutMs = limits.closeTimeoutMs;
    this.#config = clientConfig(target, limits, applicationName);
    this.#encryptions = target.encryptions();
    this.#Client = namedClient(() => this.#encryptions[this.#chosen] ?? this.#encryptions[0], target.requiresScram);
    this.#pool = new pg.Pool({
      ...this.#config,
      max: limits.maxConnections,
      idleTimeoutMillis: limits.idleTimeoutMs,
      Client: this.#Client,
    });
    // Without it a restarted server ends this process.
    this.#pool.on('error', (error: Error) => {
      // The server may end sooner than what we have hung up is closed.
      if (!this.#isEnding) onIdleError(connectError(error, this.address));
    });
    this.#pool.on('acquire', (client) => this.#inUse.add(client));
    this.#pool.on('release', (_error, client) => this.#inUse.delete(client));
  }

  /** Host and port, for messages. */
  get address(): string {
    return `${this.#target.host}:${this.#target.port}`;
  }

  get use(): PoolUse {
    const { totalCount: size, waitingCount: waiting } = this.#pool;
    return { size, inUse: this.#inUse.size, waiting, limit: this.#limit };
  }

  get options(): object {
    return {};
  }

  /** A connection of the pool; to be released. Throws DatabaseUnavailable. */
  connect(): Promise<pg.PoolClient> {
    return this.#withEncryption(() => this.#pool.connect());
  }

  /** A statement that stands alone, on a connection of the pool. */
  async query(text: string, values: unknown[]): Promise<pg.QueryResult> {
    const client = await this.connect();
    try {
      return await client.query(text, values);
    } finally {
      client.release();
    }
  }

  /** A connection outside the pool; to be ended. Throws DatabaseUnavailable. */
  connectAlone(): Promise<NamedClient> {
    return this.#open(this.#config);
  }

  /** One on which many callers may send at once. To be ended. Throws as connectAlone. */
  connectShared(): Promise<NamedClient> {
    return this.#open({ ...this.#config, pipeline: true });
  }

  #open(config: pg.ClientConfig): Promise<NamedClient> {
    return this.#withEncryption(async () => {
      const client = new this.#Client(config);
      await client.connect();
      return client;
    });
  }

  /** Lets what runs finish, for a while; then cuts it off. */
  async end(): Promise<void> {
    this.#isEnding = true;
    const cutOff = setTimeout(() => {
      for (const client of this.#inUse) client.end(() => {});
    }, this.#closeTimeoutMs);
    try {
      await this.#pool.end();
    } finally {
      clearTimeout(cutOff);
    }
  }

  /** libpq's `prefer` and `allow`: where the server refuses one way, the other is tried, and kept while it works. */
  async #withEncryption<Client>(connect: () => Promise<Client>): Promise<Client> {
    if (this.#pool.idleCount === 0) this.#readCertificates();
    const tried = this.#chosen;
    try {
      return await connect();
    } catch (error) {
      if (this.#encryptions.length === 1 || !refusesEncryption(error)) throw connectError(error, this.address);
      this.#chosen = 1 - tried;
      return await connect().catch((second: unknown) => {
        this.#chosen = 0;
        throw connectError(second, this.address);
      });
    }
  }

  /** New connections use the files as they are now. */
  #readCertificates(): void {
    try {
      this.#encryptions = this.#target.encryptions();
    } catch {
      // Half-way through a renewal: what was read before may still do, and if not the handshake says so.
    }
  }
}

function clientConfig(target: ConnectionTarget, limits: PoolLimits, applicationName: string): pg.ClientConfig {
  const { host, port, user, password, database, options } = target;
  const statementTimeoutMs = limits.statementTimeoutMs || undefined;
  return {
    ...{ host, port, user, password, database },
    // Those of the URL come last, so that they win.
    options: [PLANNER_OPTIONS, options].filter((text) => text !== undefined).join(' '),
    application_name: target.applicationName ?? applicationName,
    sslnegotiation: target.negotiation,
    connectionTimeoutMillis: target.connectTimeoutMs ?? limits.connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs && statementTimeoutMs + GRACE_MS,
    lock_timeout: limits.lockTimeoutMs,
    idle_in_transaction_session_timeout: limits.transactionIdleTimeoutMs,
  };
}

/** The handshake failed, or pg_hba.conf has no entry for a connection of this kind. */
function refusesEncryption(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return (
    code === '28000' || / SSL connection/.test(error.message) || /^ERR_(SSL|TLS)|CERT|SELF_SIGNED|UNABLE_TO_/.test(code)
  );
}
