// One connection for statements that stand alone: each is sent at once, behind those under way, and nobody waits for it to
// be free. The server finds the next one before it goes to sleep, which on a virtual machine costs more than the statement.
import type pg from 'pg';
import { DatabaseUnavailable } from './database-error.ts';

/** What Kysely asks of a pool and of its clients; there are no transactions here. */
type SharedClient = { query: pg.PoolClient['query']; release(): void };

/** Opened when it is first needed, and again after it was lost, until it is ended. */
export class SharedConnection {
  readonly #open: () => Promise<pg.Client>;
  #client: Promise<pg.Client> | undefined;
  #isEnded = false;

  constructor(open: () => Promise<pg.Client>) {
    this.#open = open;
  }

  get options(): object {
    return {};
  }

  async connect(): Promise<SharedClient> {
    const client = await this.#current();
    return { query: client.query.bind(client), release: () => undefined };
  }

  async query(text: string, values: unknown[]): Promise<pg.QueryResult> {
    const client = await this.#current();
    return client.query(text, values);
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    const client = await this.#client?.catch(() => undefined);
    await client?.end();
  }

  /** Throws DatabaseUnavailable. */
  #current(): Promise<pg.Client> {
    if (this.#isEnded) throw new DatabaseUnavailable('The connection to the database has been closed.');
    if (this.#client !== undefined) return this.#client;
    const client = this.#open();
    // A client that is lost says so twice, the second time when another one may be in its place.
    const forget = (): void => {
      if (this.#client === client) this.#client = undefined;
    };
    client.then((opened) => opened.once('end', forget).once('error', forget), forget);
    this.#client = client;
    return client;
  }
}
