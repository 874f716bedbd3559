// What is known of public keys, in one statement: what it is used for, and the account that has or had it.
import type { Selectable } from 'kysely';
import type { AcmeKeyState } from '../lifecycles/acme-key.ts';
import { gatheredOn } from './gathered.ts';
import { sql } from './statement.ts';
import type { Tables } from './tables.ts';

type Account = Selectable<Tables['acme_keys']>;

/** `thumbprint` is that of its key now, which may be another one. */
export type AccountOfKey = Pick<
  Account,
  'id' | 'directory_id' | 'contacts' | 'thumbprint' | 'eab_jws' | 'terms_agreed'
> & { readonly state: AcmeKeyState };

export type KnownKey =
  | { readonly why: 'account' | 'invalidated'; readonly account: AccountOfKey }
  /** Blocked, or that of an issued certificate. */
  | { readonly why: 'compromised' | 'certificate' };

type Row = AccountOfKey & { readonly asked: number; readonly why: KnownKey['why'] };

/** By thumbprint. Undefined for a key that was never seen: neither as an account's nor as a certificate's. Many at once are one statement. */
export const findKnownKey = gatheredOn<Buffer, KnownKey | undefined>(async (db, thumbprints) => {
  const { rows } = await sql<Row>`
    select asked.position::integer as asked, coalesce(u.why, 'certificate') as why,
           a.id, a.directory_id, a.state, a.contacts, a.thumbprint, a.eab_jws, a.terms_agreed
      from unnest(${thumbprints}::bytea[]) with ordinality as asked (thumbprint, position)
      left join lateral (
        select why, acme_key_id from used_keys where thumbprint = asked.thumbprint limit 1) u on true
      left join lateral (
        select true as found from issued_certs where key_thumbprint = asked.thumbprint limit 1) c on true
      left join lateral (
        select id, directory_id, state, contacts, thumbprint, eab_jws, terms_agreed
          from acme_keys where id = u.acme_key_id limit 1) a on true
     where u.why is not null or c.found`.execute(db);
  const found = new Map(rows.map(({ asked, ...row }) => [thumbprints[asked - 1], row]));
  return (thumbprint) => knownKey(found.get(thumbprint));
});

function knownKey(row: Omit<Row, 'asked'> | undefined): KnownKey | undefined {
  if (row === undefined) return undefined;
  const { why, ...account } = row;
  return why === 'account' || why === 'invalidated' ? { why, account } : { why };
}
