// What things are called, for who shows many of them to people.
import { findNames, type NamedIds } from '../store/shown-names.ts';
import type { Ca } from './ca.ts';

/** By uuid. A directory is called by its slug; what has no name is left out, as is what is not there. */
export async function namesOf(ca: Ca, ids: NamedIds): Promise<ReadonlyMap<string, string>> {
  const distinct = Object.fromEntries(Object.entries(ids).map(([kind, list]) => [kind, [...new Set(list)]]));
  const names = await findNames(ca.database.db, distinct);
  return new Map([...names].filter(([, name]) => name !== ''));
}
