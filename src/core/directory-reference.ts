// What is said to those who name a directory for something new, or another one for something that is there.
import { CaError } from './errors.ts';
import { formatId } from './ids.ts';

export const unknownDirectory = (id: string): CaError =>
  new CaError('unknown_reference', `There is no directory ${formatId('dir', id)}.`, { field: 'directory_id' });

/** Throws `immutable`: a token or an account key stays where it was made. Naming the same directory again is nothing. */
export function requireSameDirectory(row: { readonly directory_id: string }, given: string | undefined): void {
  if (given === undefined || given === row.directory_id) return;
  const detail = `The directory never changes; this one is in ${formatId('dir', row.directory_id)}. Make a new one instead.`;
  throw new CaError('immutable', detail, { field: 'directory_id' });
}
