// What is known of public keys, in one statement: what it is used for, and the account that has or had it.
import { type Selectable, sql } from 'kysely';
import type { AcmeKeyState } from '../lifecycles/acme-key.ts';
import { gatheredOn } from './gathered.ts';
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
      left join used_keys u on u.thumbprint = asked.thumbprint
      left join acme_keys a on a.id = u.acme_key_id
     where u.why is not null
        or exists (select from issued_certs where key_thumbprint = asked.thumbprint)`.execute(db);
  const found = new Map(rows.map(({ asked, ...row }) => [thumbprints[asked - 1], row]));
  return (thumbprint) => knownKey(found.get(thumbprint));
});

function knownKey(row: Omit<Row, 'asked'> | undefined): KnownKey | undefined {
  if (row === undefined) return undefined;
  const { why, ...account } = row;
  return why === 'account' || why === 'invalidated' ? { why, account } : { why };
}
