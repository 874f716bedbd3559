// Calls that come in one turn of the event loop, or while others are under way, go together in one statement: one round
// trip for many callers, and never an old answer, since a statement begins after everybody whom it answers has asked.
import type { Compilable } from 'kysely';
import type { Db } from './database.ts';
import { DatabaseError, DatabaseUnavailable } from './database-error.ts';
import { type Statement, send, sql } from './statement.ts';

/** What one statement does for many; it gives what tells each of them its own answer. */
type Run<Ask, Answer> = (asks: readonly Ask[]) => Promise<(ask: Ask) => Answer | Promise<Answer>>;

/** The row of each, from a statement that says with it whose it is by his place in the list, which counts from 1. */
export function answersIn<Ask, Row extends { readonly asked: number }>(
  asks: readonly Ask[],
  rows: readonly Row[],
): (ask: Ask) => Row | undefined {
  const found = new Map(rows.map((row) => [asks[row.asked - 1], row]));
  return (ask) => found.get(ask);
}

/** What one statement reads: the values of those keys that it found. */
type Load<Value> = (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>;

type Batch<Ask, Answer> = PromiseWithResolvers<(ask: Ask) => Answer | Promise<Answer>> & { readonly asks: Ask[] };

/** One statement alone would leave the connection idle while its answer is handed out. */
const USUALLY_UNDER_WAY = 2;
/** More would wait for one another longer than for a statement less. */
const MOST_TOGETHER = 100;

export function gatheredCalls<Ask, Answer>(
  run: Run<Ask, Answer>,
  most = USUALLY_UNDER_WAY,
): (ask: Ask) => Promise<Answer> {
  const waiting: Batch<Ask, Answer>[] = [];
  let underWay = 0;

  const begin = (): void => {
    if (underWay === most) return;
    const batch = waiting.shift();
    if (batch === undefined) return;
    underWay++;
    void run(batch.asks)
      .then(batch.resolve, batch.reject)
      .then(() => {
        underWay--;
        begin();
      });
  };

  const next = (): Batch<Ask, Answer> => {
    const last = waiting.at(-1);
    if (last !== undefined && last.asks.length < MOST_TOGETHER) return last;
    const batch = { ...Promise.withResolvers<(ask: Ask) => Answer | Promise<Answer>>(), asks: [] };
    waiting.push(batch);
    atEndOfTurn(begin);
    return batch;
  };

  return async (ask) => {
    const { asks, promise } = next();
    asks.push(ask);
    return (await promise)(ask);
  };
}

let begins: (() => void)[] = [];

/** Behind all requests that came in with this one, and all at once: statements that begin together are sent together. */
function atEndOfTurn(begin: () => void): void {
  if (begins.length === 0)
    setImmediate(() => {
      const turn = begins;
      begins = [];
      for (const beginOne of turn) beginOne();
    });
  begins.push(begin);
}

/** Look-ups by a key, of which a statement names each once. */
export const gathered = <Value>(load: Load<Value>): ((key: string) => Promise<Value | undefined>) =>
  gatheredCalls(async (keys: readonly string[]) => {
    const found = await load([...new Set(keys)]);
    return (key) => found.get(key);
  });

/** The same for a database: calls on one handle go together, and those of a transaction stay alone. */
export const gatheredOn = <Ask, Answer>(
  run: (db: Db, asks: readonly Ask[]) => Promise<(ask: Ask) => Answer>,
): ((db: Db, ask: Ask) => Promise<Answer>) =>
  perDatabase((db) => gatheredCalls((asks: readonly Ask[]) => run(db, asks)));

/**
 * For statements that may wait for locks or the disk: not over the connection of the reads, so that none stands behind
 * them. With `underWay` 1 all who come while one is flushed to the disk gather for the next.
 */
export const gatheredWrites = <Ask, Answer>(
  run: (db: Db, asks: readonly Ask[]) => Promise<(ask: Ask) => Answer | Promise<Answer>>,
  underWay = USUALLY_UNDER_WAY,
): ((db: Db, ask: Ask) => Promise<Answer>) =>
  perDatabase(
    (db) => gatheredCalls((asks: readonly Ask[]) => run(db, asks), underWay),
    (db) => db,
  );

/** `patience` is a part of the statement that is to be run before whatever may wait for a lock. */
type RunWaiting<Ask, Answer> = (
  db: Db,
  asks: readonly Ask[],
  patience: Statement<unknown>,
) => Promise<(ask: Ask) => Answer>;

/**
 * What the database refuses because of one of several, or what would wait for a lock, is run for each alone, while others
 * go on: everybody hears what is said of his own, and waits no longer than that for somebody else's. `together` is where it
 * is run first.
 */
export const orEachAlone =
  <Ask, Answer>(run: RunWaiting<Ask, Answer>, together: (db: Db) => Db = (db) => db) =>
  async (db: Db, asks: readonly Ask[]): Promise<(ask: Ask) => Answer | Promise<Answer>> => {
    // What is refused there ends it, and what is set stays set.
    if (db.isTransaction) return run(db, asks, asPatientAsEver);
    try {
      return await run(together(db), asks, waitingAtMost(TOGETHER_WAITING));
    } catch (error) {
      if (!isOfLock(error) && !(error instanceof DatabaseError && asks.length > 1)) throw error;
    }
    const answers = new Map(
      asks.map((ask) => [ask, run(db, [ask], asPatientAsEver).then((answerTo) => answerTo(ask))]),
    );
    // Who has asked hears of it.
    for (const answer of answers.values()) answer.catch(() => undefined);
    return (ask) => answers.get(ask) ?? Promise.reject(new RangeError('Nobody has asked that.'));
  };

const isOfLock = (error: unknown): boolean => error instanceof DatabaseUnavailable && error.code === LOCK_NOT_AVAILABLE;

const LOCK_NOT_AVAILABLE = '55P03';

/** Many times what those hold a lock for who do not wait themselves. */
const TOGETHER_WAITING = '50ms';

/** Null: as long as the connection has it. */
const waitingAtMost = (lockTimeout: string | null): Statement<unknown> => sql`
  select set_config('lock_timeout', coalesce(${lockTimeout}, current_setting('lock_timeout')), true)`;

const asPatientAsEver = waitingAtMost(null);

export const gatheredReads = <Value>(
  load: (db: Db, keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
): ((db: Db, key: string) => Promise<Value | undefined>) => perDatabase((db) => gathered((keys) => load(db, keys)));

/** Statements of many callers need no connection of their own: those of `db` go to another handle. */
export const gatherOn = (db: Db, shared: Db): void => void sharedHandles.set(db, shared);

const sharedHandles = new WeakMap<Db, Db>();

const sharedHandle = (db: Db): Db => sharedHandles.get(db) ?? db;

function perDatabase<Ask, Answer>(gather: (db: Db) => (ask: Ask) => Promise<Answer>, handleOf = sharedHandle) {
  const asks = new WeakMap<Db, (ask: Ask) => Promise<Answer>>();
  return (db: Db, ask: Ask): Promise<Answer> => {
    const known = asks.get(db);
    if (known !== undefined) return known(ask);
    const gatheredAsk = gather(handleOf(db));
    asks.set(db, gatheredAsk);
    return gatheredAsk(ask);
  };
}

/** Reads of rows by their id. The query is built once for a handle: the ids alone are others each time. */
export const gatheredRows = <Row extends { readonly id: string }>(
  query: (db: Db, ids: Statement<string>) => Compilable<Row>,
): ((db: Db, id: string) => Promise<Row | undefined>) =>
  perDatabase((db) => {
    const { sql: text, parameters } = query(db, sql<string>`any(${IDS}::uuid[])`).compile();
    return gathered(async (ids) => {
      const values = parameters.map((value) => (value === IDS ? ids : value));
      const { rows } = await send<Row>(db, text, values);
      return new Map(rows.map((row) => [row.id, row]));
    });
  });

/** Where the ids stand in a query. */
const IDS: readonly string[] = [];
