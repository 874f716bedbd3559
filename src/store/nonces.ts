// Statements on nonce_keys and spent_nonces. Both are unlogged: what is written waits for no disk, and a crash empties
// them together. Nonces are spent by the statement that a signed request begins with.
import type { Db } from './database.ts';
import { gatheredReads } from './gathered.ts';
import { sql } from './statement.ts';

export type NonceKey = { readonly kid: string; readonly key: Buffer };

/** `unique` is the part of a nonce that no other one of the key has. */
export type NonceClaim = { readonly kid: string; readonly unique: Buffer };
/** `key_lost`: the table has another key, or none. */
export type NonceClaimed = 'claimed' | 'spent' | 'key_lost';

const THE_ONE = 'the one';

/** The key that all replicas make nonces with. */
export const findNonceKey = (db: Db): Promise<NonceKey | undefined> => readNonceKey(db, THE_ONE);

const readNonceKey = gatheredReads(async (db) => {
  const row = await db.selectFrom('nonce_keys').select(['kid', 'key']).executeTakeFirst();
  return new Map(row === undefined ? [] : [[THE_ONE, row]]);
});

/** Changes nothing where there is a key. */
export const insertNonceKey = (db: Db, { kid, key }: NonceKey) =>
  sql`insert into nonce_keys (kid, key) values (${kid}, ${key}) on conflict do nothing`.execute(db);

/** Forgets spent nonces that sort before `end`, at most so many; returns how many. Replicas at once take different rows. */
export async function deleteSpentNonces(db: Db, end: Buffer, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from spent_nonces
     where nonce = any(array(select nonce from spent_nonces where nonce < ${end} order by nonce limit ${limit}))`.execute(
    db,
  );
  return Number(numAffectedRows ?? 0);
}
