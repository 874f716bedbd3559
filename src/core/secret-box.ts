// Small secrets in Postgres, such as EAB MAC keys: sealed under the wrap key, which is in the key store alone.
import { readServiceState, replaceServiceState } from '../store/service-state.ts';
import type { Ca } from './ca.ts';
import { KeysUnavailable } from './errors.ts';
import type { Sealer } from './ports.ts';

const WRAP_KEY = 'wrap';
const CHECK = 'wrap_key_check';

/**
 * At start, before anything is sealed or opened: makes the wrap key of a new database, and proves that the key in the
 * key store is the one of this database. A key is made only while the database has no check value, so a lost one is
 * never replaced silently. Throws `unavailable`, saying what to restore.
 */
export async function ensureWrapKey({ database: { db }, keys }: Pick<Ca, 'database' | 'keys'>): Promise<void> {
  const known = await readServiceState(db, CHECK);
  if (known !== undefined) return prove(await keys.sealer(WRAP_KEY), known);
  const sealer = await keys.createSealer(WRAP_KEY);
  const value = sealer.seal(Buffer.from(CHECK), CHECK).toString('base64');
  if (await replaceServiceState(db, CHECK, undefined, value)) return;
  // Another process was first, perhaps with a key store of its own.
  prove(sealer, await readServiceState(db, CHECK));
}

/** The secret as it may be stored in row `id` and nowhere else. Throws `unavailable`. */
export async function sealSecret({ keys }: Pick<Ca, 'keys'>, id: string, secret: Buffer): Promise<Buffer> {
  return (await keys.sealer(WRAP_KEY)).seal(secret, id);
}

/** What sealSecret put in the row. Throws `unavailable`. */
export async function openSecret({ keys }: Pick<Ca, 'keys'>, id: string, box: Buffer): Promise<Buffer> {
  return (await keys.sealer(WRAP_KEY)).open(box, id);
}

function prove(sealer: Sealer, check: unknown): void {
  try {
    sealer.open(Buffer.from(String(check), 'base64'), CHECK);
  } catch (cause) {
    const detail =
      'The key "wrap" in the key store is not the one that the MAC keys in this database are sealed under. ' +
      'Restore the key store and the database from backups that belong together.';
    throw new KeysUnavailable(detail, { cause });
  }
}
