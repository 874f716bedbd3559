// The sql tag of the statements that requests send. Kysely's makes a tree of each and the text out of that, every time;
// here the text is made once, is found again by the templates that it is made of, and only the values are gathered.
//
// Of a row that is found by its key, what else must hold stands in `(...) is true`, which can be checked but not searched
// for. A plan is made once a connection, and while tables are small every index looks as good as the key: by one that
// knows the state, or the account, all rows of that state or account would be read for one, however many there come to be.
import {
  type AliasableExpression,
  type AliasedExpression,
  type Compilable,
  CompiledQuery,
  type QueryResult,
  sql as raw,
} from 'kysely';
import type pg from 'pg';
import type { Db } from './database.ts';

type Value = string | number | bigint | boolean | null | Date | Buffer | readonly Value[];

/** What sends the statements of a handle. */
export type Sender = { query(text: string, values: unknown[]): Promise<pg.QueryResult> };

/** A statement, or a part of one. What is no part is a value. */
export const sql = <Row>(templates: readonly string[], ...parts: readonly (Value | Statement<unknown>)[]) =>
  new Statement<Row>(templates, parts);

/** A part that stands there as it is: names of the program's own, never a value. */
export function verbatim(text: string): Statement<unknown> {
  const known = verbatims.get(text);
  if (known !== undefined) return known;
  const part = new Statement([text], []);
  if (verbatims.size < MOST_PLACES) verbatims.set(text, part);
  return part;
}

/** Statements on this handle need nothing else of Kysely: those of a transaction or a session do. */
export const sendBy = (db: Db, sender: Sender): void => void senders.set(db, sender);

/** A text with all its values. */
export async function send<Row>(db: Db, text: string, values: unknown[]): Promise<QueryResult<Row>> {
  const sender = senders.get(db);
  if (sender === undefined) return db.getExecutor().executeQuery<Row>(CompiledQuery.raw(text, values));
  const { command, rowCount, rows } = await sender.query(text, values);
  return changing.has(command) ? { rows, numAffectedRows: BigInt(rowCount ?? 0) } : { rows };
}

/** Programs have few texts, and a bug must not fill the memory: what is beyond has its text made each time. */
const MOST_PLACES = 2_000;
const verbatims = new Map<string, Statement<unknown>>();
const senders = new WeakMap<Db, Sender>();

/** Commands that say how many rows they have changed. */
const changing: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);

export class Statement<Row> implements AliasableExpression<Row>, Compilable<Row> {
  readonly #templates: readonly string[];
  readonly #parts: readonly (Value | Statement<unknown>)[];

  constructor(templates: readonly string[], parts: readonly (Value | Statement<unknown>)[]) {
    this.#templates = templates;
    this.#parts = parts;
  }

  execute(db: Db): Promise<QueryResult<Row>> {
    const values: Value[] = [];
    const place = this.#gather(values, Place.root);
    place.text ??= this.#text();
    return send<Row>(db, place.text, values);
  }

  compile(): CompiledQuery<Row> {
    const values: Value[] = [];
    this.#gather(values, Place.root);
    return CompiledQuery.raw(this.#text(), values);
  }

  get expressionType(): Row | undefined {
    return undefined;
  }

  /** For Kysely, as a part of what it builds. */
  toOperationNode() {
    return this.#forKysely().toOperationNode();
  }

  as<Alias extends string>(alias: Alias): AliasedExpression<Row, Alias> {
    return this.#forKysely().as(alias);
  }

  #forKysely() {
    return raw<Row>(Object.assign([...this.#templates], { raw: this.#templates }), ...this.#parts);
  }

  /** Appends the values in the order of the text, and follows the templates to its place. */
  #gather(values: Value[], from: Place): Place {
    let place = from.next(this.#templates, values.length);
    for (const part of this.#parts) {
      if (part instanceof Statement) place = part.#gather(values, place);
      else values.push(part);
    }
    return place;
  }

  #text(): string {
    let values = 0;
    return this.#pieces()
      .map((piece) => piece ?? `$${++values}`)
      .join('');
  }

  /** Undefined stands for a value. */
  #pieces(): readonly (string | undefined)[] {
    return this.#templates.flatMap((template, index) => {
      const part = this.#parts[index];
      if (index === this.#parts.length) return template;
      return [template, ...(part instanceof Statement ? part.#pieces() : [undefined])];
    });
  }
}

/** Where the templates of a statement lead to: each of them, and how many values stand before it, is a step. */
class Place {
  static readonly root = new Place();
  static #made = 0;
  text: string | undefined;
  readonly #next: Map<readonly string[], Place>[] = [];

  next(templates: readonly string[], valuesBefore: number): Place {
    const known = this.#next[valuesBefore]?.get(templates);
    if (known !== undefined) return known;
    const place = new Place();
    if (Place.#made++ >= MOST_PLACES) return place;
    this.#next[valuesBefore] ??= new Map();
    this.#next[valuesBefore].set(templates, place);
    return place;
  }
}
