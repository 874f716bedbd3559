// Statements on nonce_keys and spent_nonces. Both are unlogged: what is written here waits for no disk, and a crash
// empties them together.
import { sql } from 'kysely';
import type { Db } from './database.ts';
import { gatheredOn, gatheredReads } from './gathered.ts';

export type NonceKey = { readonly kid: string; readonly key: Buffer };

/** `nonce` is the part of it that no other nonce of the key has. */
type NonceClaim = { readonly kid: string; readonly nonce: Buffer };
/** `key_lost`: the table has another key, or none. */
type NonceClaimed = 'claimed' | 'spent' | 'key_lost';

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

/** Spends a nonce. Of several claims of one nonce, here or on other replicas, exactly one is `claimed`. */
export const claimNonce = gatheredOn<NonceClaim, NonceClaimed>(async (db, claims) => {
  // In one order, or two statements that hold each other's nonces would wait for each other.
  const { rows } = await sql<{ readonly kid: string | null; readonly nonces: readonly Buffer[] }>`
    with claimed as (
      insert into spent_nonces (nonce)
      select asked.nonce from unnest(${claims.map(({ nonce }) => nonce)}::bytea[], ${claims.map(({ kid }) => kid)}::text[])
                           as asked (nonce, kid)
       where exists (select from nonce_keys where nonce_keys.kid = asked.kid)
       order by asked.nonce
      on conflict do nothing
      returning nonce)
    select (select kid from nonce_keys) as kid, array(select nonce from claimed) as nonces`.execute(db);
  const { kid, nonces } = rows[0] ?? { kid: null, nonces: [] };
  const won = new Set(nonces.map((nonce) => nonce.toString('hex')));
  // The first of two equal ones has it.
  return (claim) => (claim.kid !== kid ? 'key_lost' : won.delete(claim.nonce.toString('hex')) ? 'claimed' : 'spent');
});

/** Forgets spent nonces that sort before `end`, at most so many; returns how many. Replicas at once take different rows. */
export async function deleteSpentNonces(db: Db, end: Buffer, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from spent_nonces
     where nonce = any(array(select nonce from spent_nonces where nonce < ${end} order by nonce limit ${limit}))`.execute(
    db,
  );
  return Number(numAffectedRows ?? 0);
}
