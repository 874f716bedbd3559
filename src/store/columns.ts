// The columns of a table or of a part of a statement, as they stand in its text.
import { type Statement, verbatim } from './statement.ts';

/** `source.id, source.name`. */
export const columnsOf = (source: string, names: readonly string[]): Statement<unknown> =>
  verbatim(names.map((name) => `"${source}"."${name}"`).join(', '));
