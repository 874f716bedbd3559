// Statements on used_keys: every key that is or was an account's, or is known to be compromised. Its primary key decides
// who of several is first to use a key.
import type { Selectable } from 'kysely';
import type { Db, Tx } from './database.ts';
import { sql, verbatim } from './statement.ts';
import type { Tables } from './tables.ts';

export type KeyUse = Pick<Selectable<Tables['used_keys']>, 'why' | 'acme_key_id'>;

/** Undefined for a key that was never an account's and is not blocked. */
export const findKeyUse = (db: Db, thumbprint: Buffer): Promise<KeyUse | undefined> =>
  db.selectFrom('used_keys').select(['why', 'acme_key_id']).where('thumbprint', '=', thumbprint).executeTakeFirst();

/** Whether a certificate was issued for the key. */
export async function isCertificateKey(db: Db, thumbprint: Buffer): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select 1 from issued_certs where key_thumbprint = ${thumbprint}) as found`.execute(db);
  return rows[0]?.found === true;
}

/** The first number of the advisory locks of keys, as the trigger used_keys_not_of_certificate takes them. */
export const KEY_LOCKS = verbatim('7638');
/** The second number of the lock of a key: what its thumbprint begins with. */
export const keyLockOf = (thumbprint: Buffer): number => thumbprint.readInt32BE(0);

/** Until the transaction ends nobody reserves an order with the key; who is doing so is waited for. */
export async function lockKey(tx: Tx, thumbprint: Buffer): Promise<void> {
  await sql`select pg_advisory_xact_lock(${KEY_LOCKS}, ${keyLockOf(thumbprint)}::integer)`.execute(tx);
}

/** Gives the key to an account for ever. Fails by used_keys_pkey where it is not new. */
export async function claimKey(tx: Tx, thumbprint: Buffer, acmeKeyId: string, now: Date): Promise<void> {
  await tx.insertInto('used_keys').values({ thumbprint, why: 'account', since: now, acme_key_id: acmeKeyId }).execute();
}

/** The key of an account is withdrawn; one that is known to be compromised stays that. */
export async function invalidateKey(tx: Tx, thumbprint: Buffer): Promise<void> {
  await sql`
    update used_keys set why = 'invalidated' where thumbprint = ${thumbprint} and why = 'account'`.execute(tx);
}

/** Blocks keys of certificates: none of them is accepted for anything again. */
export async function blockKeys(tx: Tx, thumbprints: readonly Buffer[], now: Date): Promise<void> {
  await sql`
    insert into used_keys (thumbprint, why, since)
    select distinct thumbprint, 'compromised', ${now}::timestamptz from unnest(${thumbprints}::bytea[]) as thumbprint
     order by thumbprint
    on conflict (thumbprint) do update set why = 'compromised' where used_keys.why <> 'compromised'`.execute(tx);
}
