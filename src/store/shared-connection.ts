// One connection for statements that stand alone: each is sent at once, behind those under way, and nobody waits for it to
// be free. The server finds the next one before it goes to sleep, which on a virtual machine costs more than the statement.
import type pg from 'pg';
import { DatabaseUnavailable } from './database-error.ts';
import type { NamedClient } from './named-client.ts';
import { UnderWay } from './under-way.ts';

/** What Kysely asks of a pool and of its clients; there are no transactions here. */
type SharedClient = { query: pg.PoolClient['query']; release(): void };

/** Opened when it is first needed, and again after it was lost, until it is ended. */
export class SharedConnection {
  readonly underWay = new UnderWay();
  readonly #open: () => Promise<NamedClient>;
  readonly #closeTimeoutMs: number;
  /** The one that is given out, from before it is open. */
  #client: Promise<NamedClient> | undefined;
  #opened: NamedClient | undefined;
  /** Those before it, too, for as long as statements on them are under way. */
  readonly #notEnded = new Set<NamedClient>();
  #isEnded = false;

  constructor(open: () => Promise<NamedClient>, closeTimeoutMs: number) {
    this.#open = open;
    this.#closeTimeoutMs = closeTimeoutMs;
  }

  get options(): object {
    return {};
  }

  async connect(): Promise<SharedClient> {
    await this.#current();
    return { query: (...call: readonly unknown[]) => Reflect.apply(this.query, this, call), release: () => undefined };
  }

  query(text: string, values: unknown[]): Promise<pg.QueryResult> {
    return this.underWay.follow(async () => (await this.#current()).query(text, values));
  }

  /** Lets what is under way finish, for a while; then cuts it off. */
  async end(): Promise<void> {
    this.#isEnded = true;
    const cutOff = setTimeout(() => {
      for (const client of this.#notEnded) client.cutOff();
    }, this.#closeTimeoutMs);
    try {
      await this.#client?.catch(() => undefined);
      await Promise.all([...this.#notEnded].map((client) => client.end()));
    } finally {
      clearTimeout(cutOff);
    }
  }

  /** Throws DatabaseUnavailable. */
  #current(): Promise<NamedClient> {
    if (this.#isEnded) throw closed();
    if (this.#client === undefined || this.#opened?.isOver === true) this.#client = this.#openAnother();
    return this.#client;
  }

  async #openAnother(): Promise<NamedClient> {
    this.#opened = undefined;
    try {
      const client = await this.#open();
      this.#notEnded.add(client);
      client.once('end', () => this.#notEnded.delete(client));
      this.#opened = client;
      // Nothing has been sent yet.
      if (this.#isEnded) throw closed();
      return client;
    } catch (error) {
      this.#client = undefined;
      throw error;
    }
  }
}

const closed = () => new DatabaseUnavailable('The connection to the database has been closed.');
