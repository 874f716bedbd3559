// What is said to those who name another directory for something that is there.
import type { FieldProblem } from './errors.ts';
import { formatId } from './ids.ts';

/** A token or an account key stays where it was made. Naming the same directory again is no problem. */
export function otherDirectory(
  row: { readonly directory_id: string },
  given: string | undefined,
): readonly FieldProblem[] {
  if (given === undefined || given === row.directory_id) return [];
  const message = `The directory never changes; this one is in ${formatId('dir', row.directory_id)}. Make a new one instead.`;
  return [{ field: 'directory_id', code: 'immutable', message }];
}
