// The columns of a table or of a part of a statement, as they stand in its text.
import { type RawBuilder, sql } from 'kysely';

/** `source.id, source.name`. */
export const columnsOf = (source: string, names: readonly string[]): RawBuilder<unknown> =>
  sql.join(names.map((name) => sql.ref(`${source}.${name}`)));
