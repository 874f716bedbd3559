// Whether a row is that of a custom resource: what its status says may have been written by somebody else.
import type { Database } from '../store/database.ts';
import { findRowOwner } from '../store/row-owners.ts';
import type { Ca } from './ca.ts';
import { Recent } from './recent.ts';

const REMEMBERED = 4_096;
/** An object has its row until it is deleted, and its uid never comes again: a yes stays true while the object is there. */
const known = new WeakMap<Database, Recent<true>>();

/** `id` is the uuid of a CA cert or a directory, `uid` that of an object that is there. */
export async function isRowOf({ database }: Pick<Ca, 'database'>, id: string, uid: string): Promise<boolean> {
  const remembered = known.get(database) ?? new Recent<true>(REMEMBERED);
  known.set(database, remembered);
  const key = `${id} ${uid}`;
  if (remembered.get(key) === true) return true;
  const isOwn = (await findRowOwner(database.db, id))?.uid === uid;
  if (isOwn) remembered.set(key, true);
  return isOwn;
}
