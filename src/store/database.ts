// The connection to Postgres: a pool behind Kysely, transactions with retry, LISTEN, and probes of its health.
import { Kysely, PostgresDialect, type PostgresPool, sql, type Transaction } from 'kysely';
import { parseDatabaseUrl } from './connection.ts';
import { DatabaseUnavailable } from './database-error.ts';
import { gatherOn } from './gathered.ts';
import { type ChannelHandlers, Listener, type ListenerEvents } from './listener.ts';
import { ConnectionPool, type PoolLimits, type PoolUse } from './pool.ts';
import { QuickWrites, writeQuicklyOn } from './quick-writes.ts';
import { SharedConnection } from './shared-connection.ts';
import { sendBy } from './statement.ts';
import type { Tables } from './tables.ts';
import { runTransaction, secureRandom, type TransactionOptions } from './transaction.ts';
import type { UnderWayNow } from './under-way.ts';

export type Db = Kysely<Tables>;
export type Tx = Transaction<Tables>;

export type DatabaseOptions = Partial<PoolLimits> & {
  /** postgres://user:password@host:port/database, with the parameters of libpq. */
  readonly url: string;
  readonly applicationName?: string;
  /** A connection was lost while nobody used it, as by a restart of the server. */
  readonly onConnectionLost?: (error: Error) => void;
  /** Numbers between 0 and 1 that spread retries. */
  readonly random?: () => number;
};

const defaultLimits: PoolLimits = {
  maxConnections: 16,
  statementTimeoutMs: 15_000,
  lockTimeoutMs: 5_000,
  transactionIdleTimeoutMs: 15_000,
  idleTimeoutMs: 60_000,
  connectTimeoutMs: 5_000,
  closeTimeoutMs: 5_000,
};

const PING_MS = 2_000;

/** Connects on first use and never by itself. Throws DatabaseUrlError when the URL or a file that it names is no use. */
export const openDatabase = (options: DatabaseOptions): Database => new Database(options);

export class Database {
  /** For queries. They throw DatabaseUnavailable or DatabaseError. */
  readonly db: Db;
  /** Host and port, for messages. */
  readonly address: string;
  readonly #pool: ConnectionPool;
  /** What is gathered goes here. */
  readonly #reads: SharedConnection;
  /** Writes that wait for no disk. */
  readonly #writes: SharedConnection;
  readonly #random: () => number;
  readonly #listeners = new Set<Listener>();
  #closed: Promise<void> | undefined;

  constructor(options: DatabaseOptions) {
    const limits = { ...defaultLimits, ...options };
    const { applicationName = 'acmery', onConnectionLost = () => {}, random = secureRandom } = options;
    const target = parseDatabaseUrl(options.url);
    this.#pool = new ConnectionPool(target, limits, applicationName, onConnectionLost);
    this.db = handleOn(this.#pool);
    const open = () => this.#pool.connectShared();
    this.#reads = new SharedConnection(open, limits.closeTimeoutMs);
    this.#writes = new SharedConnection(open, limits.closeTimeoutMs);
    const [reads, writes] = [handleOn(this.#reads), handleOn(this.#writes)];
    gatherOn(this.db, reads);
    writeQuicklyOn(this.db, writes);
    sendBy(this.db, this.#pool);
    sendBy(reads, this.#reads);
    sendBy(writes, new QuickWrites(this.#writes, this.#pool));
    this.address = this.#pool.address;
    this.#random = random;
  }

  /** How busy the pool is. */
  get pool(): PoolUse {
    return this.#pool.use;
  }

  /** What is under way on the connections that many share. */
  get shared(): Readonly<Record<'reads' | 'writes', UnderWayNow>> {
    return { reads: this.#reads.underWay, writes: this.#writes.underWay };
  }

  /** See runTransaction: `work` may be run several times. */
  inTransaction<Result>(work: (tx: Tx) => Promise<Result>, options: TransactionOptions = {}): Promise<Result> {
    return runTransaction(this.db, work, options, this.#random);
  }

  /** Listens from now on, also when the database is away at first, until the listener is disposed of or we close. */
  listen(handlers: ChannelHandlers, events: ListenerEvents = {}): Listener {
    const listener = new Listener(() => this.#pool.connectAlone(), this.#random, handlers, events);
    this.#listeners.add(listener);
    return listener;
  }

  /** Throws DatabaseUnavailable when no answer comes in time. */
  async ping(timeoutMs = PING_MS): Promise<void> {
    await within(timeoutMs, sql`select 1`.execute(this.db), this.address);
  }

  /** `18.1`, `15.18`. */
  async serverVersion(): Promise<string> {
    const { rows } = await sql<{ server_version: string }>`show server_version`.execute(this.db);
    return rows[0]?.server_version.split(' ')[0] ?? '';
  }

  /** How far the clock of the database is ahead of ours, to half the time of one answer. */
  clockOffsetMs(clock: { now(): Date }): Promise<number> {
    return this.db.connection().execute(async (connection) => {
      const read = () =>
        sql<{ ms: number }>`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`.execute(connection);
      await read(); // the first one makes the connection ready
      const before = clock.now().getTime();
      const { rows } = await read();
      const after = clock.now().getTime();
      return (rows[0]?.ms ?? Number.NaN) - (before + after) / 2;
    });
  }

  /** Lets what runs finish for some seconds. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#listeners].map((listener) => listener[Symbol.asyncDispose]()));
    await Promise.all([this.#reads.end(), this.#writes.end(), this.#pool.end()]);
  }
}

const handleOn = (pool: PostgresPool): Db => new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });

async function within<Result>(timeoutMs: number, work: Promise<Result>, address: string): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new DatabaseUnavailable(`Postgres at ${address} did not answer within ${timeoutMs} ms.`)),
      timeoutMs,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
