// A named statement whose rows are described once per connection: Postgres sends the names and types of the columns only
// when it is asked for them, and for a prepared statement they never change.
import pg from 'pg';
import { parameterValue } from './parameter-values.ts';

declare module 'pg' {
  // What the driver calls of its queries, and what they hold.
  interface Query {
    name: string;
    readonly _result: {
      readonly _types: pg.CustomTypesConfig;
      addRow(row: object): void;
      addCommandComplete(message: object): void;
    };
    _canceledDueToError: unknown;
    prepare(connection: pg.Connection): void;
    handleRowDescription(message: RowDescription): void;
    handleDataRow(message: DataRow): void;
    handleCommandComplete(message: object, connection: pg.Connection): void;
  }
}

type RowDescription = { readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[] };
type DataRow = { readonly fields: readonly (string | null)[] };

type Column = { readonly name: string; readonly parse: (text: string) => unknown };
type Shape = { readonly columns: readonly Column[]; readonly empty: Readonly<Record<string, unknown>> };

/** The rows of the statements of one connection, by name. */
export class Shapes {
  readonly #shapes = new Map<string, Shape>();
  readonly #undescribed: pg.Connection;

  constructor(connection: pg.Connection) {
    this.#undescribed = Object.create(connection, { describe: { value: () => undefined } });
  }

  get(name: string): Shape | undefined {
    return this.#shapes.get(name);
  }

  keep(name: string, shape: Shape): void {
    this.#shapes.set(name, shape);
  }

  /** The connection, for a query that needs no description. */
  get undescribed(): pg.Connection {
    return this.#undescribed;
  }
}

const NO_ROWS: Shape = { columns: [], empty: {} };

export type Statement = { readonly name: string; readonly text: string; readonly values: unknown[] };

export class NamedQuery extends pg.Query {
  readonly #shapes: Shapes;
  #shape: Shape | undefined;

  constructor(
    { name, text, values }: Statement,
    shapes: Shapes,
    done: (error: unknown, result: pg.QueryResult) => void,
  ) {
    super(text, values.map(parameterValue), done);
    this.name = name;
    this.#shapes = shapes;
  }

  override prepare(connection: pg.Connection): void {
    this.#shape = this.#shapes.get(this.name);
    super.prepare(this.#shape === undefined ? connection : this.#shapes.undescribed);
  }

  override handleRowDescription({ fields }: RowDescription): void {
    const { _types: types } = this._result;
    const columns = fields.map(({ name, dataTypeID }) => ({ name, parse: types.getTypeParser(dataTypeID, 'text') }));
    this.#shape = { columns, empty: Object.fromEntries(columns.map(({ name }) => [name, null])) };
  }

  override handleDataRow({ fields }: DataRow): void {
    if (this.#shape === undefined || this._canceledDueToError) return;
    const { columns, empty } = this.#shape;
    const row = { ...empty };
    try {
      let index = 0;
      for (const { name, parse } of columns) {
        const text = fields[index++] ?? null;
        if (text !== null) row[name] = parse(text);
      }
    } catch (error) {
      this._canceledDueToError = error;
      return;
    }
    this._result.addRow(row);
  }

  override handleCommandComplete(message: object, connection: pg.Connection): void {
    this.#shapes.keep(this.name, this.#shape ?? NO_ROWS);
    super.handleCommandComplete(message, connection);
  }
}
