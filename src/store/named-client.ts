// A pg client that prepares each parameterised statement once per connection, reads values our way, and throws our errors.
import { hash } from 'node:crypto';
import pg from 'pg';
import { columnParsers } from './column-values.ts';
import type { Encryption } from './connection.ts';
import { spoilsConnection, statementError, UnprovenServer } from './database-error.ts';
import { NamedQuery, Shapes, type Statement } from './named-query.ts';
import { sendTogether } from './one-write.ts';

/** Each connection keeps its prepared statements for life: programs have few texts, and a bug must not fill the server. */
const MOST_NAMES = 300;
const names = new Map<string, string>();

/** Requests for the password itself, or for what can be guessed from. */
const weakRequests = ['authenticationCleartextPassword', 'authenticationMD5Password'];

export type NamedClient = InstanceType<ReturnType<typeof namedClient>>;

/** The class of clients for one target; `encryption` is asked when a client is made. */
export const namedClient = (encryption: () => Encryption, requiresScram: boolean) =>
  class NamedClient extends pg.Client {
    /** Told to end, or lost: what it is given now is refused. */
    isOver = false;
    #isProven = !requiresScram;
    readonly #shapes: Shapes;

    constructor(config?: pg.ClientConfig) {
      // The pool hides the password from copies.
      super({ ...config, password: config?.password, ssl: encryption(), types: columnParsers });
      sendTogether(this.connection);
      this.#shapes = new Shapes(this.connection);
      // The next statement learns of a lost connection; without a listener the loss itself would end the process.
      this.on('error', () => {
        this.isOver = true;
      });
      this.connection.once('authenticationSASLFinal', () => {
        this.#isProven = true; // unless what it says is wrong, which ends the connection
      });
      // First in line: nothing is written to a stream that is destroyed.
      for (const request of requiresScram ? weakRequests : [])
        this.connection.on(request, () => this.connection.stream.destroy(new UnprovenServer()));
    }

    /** Both calls of pg: the promise, and for the pool the callback. */
    override connect(...[done]: readonly unknown[]) {
      const connected = super.connect().then(() => this.#proven());
      if (typeof done !== 'function') return connected;
      const tell = (...problem: readonly unknown[]) => {
        Reflect.apply(done, undefined, problem);
        return this;
      };
      return connected.then(() => tell(), tell);
    }

    /** Any of the calls of pg; only text with values is changed. */
    override query(...call: readonly unknown[]) {
      const statement = call.length <= 2 ? namedStatement(call[0], call[1]) : undefined;
      if (statement !== undefined) return this.#queryNamed(statement);
      const result = Reflect.apply(super.query, this, call);
      return result instanceof Promise ? result.catch((error: unknown) => this.#fail(error)) : result;
    }

    /** Both calls of pg. */
    override end(...call: readonly unknown[]) {
      this.isOver = true;
      return Reflect.apply(super.end, this, call);
    }

    /** What is under way fails. */
    cutOff(): void {
      this.connection.stream.destroy();
    }

    #proven(): this {
      if (this.#isProven) return this;
      this.connection.stream.destroy();
      throw new UnprovenServer();
    }

    #queryNamed(statement: Statement): Promise<pg.QueryResult> {
      const { promise, resolve, reject } = Promise.withResolvers<pg.QueryResult>();
      super.query(
        new NamedQuery(statement, this.#shapes, (error, result) => {
          if (error === null || error === undefined) resolve(result);
          else reject(error);
        }),
      );
      return promise.catch((error: unknown) => this.#fail(error));
    }

    #fail(error: unknown): never {
      // The pool drops a client that has been ended.
      if (spoilsConnection(error)) this.end(() => {});
      throw statementError(error);
    }
  };

/** What can be prepared: text with values. */
function namedStatement(text: unknown, values: unknown): Statement | undefined {
  if (typeof text !== 'string' || !Array.isArray(values) || values.length === 0) return undefined;
  const name = statementName(text);
  return name === undefined ? undefined : { name, text, values };
}

function statementName(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= MOST_NAMES) return known;
  const name = hash('sha1', text);
  names.set(text, name);
  return name;
}
