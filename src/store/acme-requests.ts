// What a request of an ACME client stands on, in one round trip: the directory that a slug leads to, and an account of it.
import type { Selectable } from 'kysely';
import type { Tables } from './tables.ts';

/** An account as its requests need it, in whatever state. */
export type AcmeAccountRow = Pick<
  Selectable<Tables['acme_keys']>,
  | 'id'
  | 'directory_id'
  | 'state'
  | 'version'
  | 'origin'
  | 'order_validations'
  | 'contacts'
  | 'thumbprint'
  | 'spki'
  | 'eab_jws'
  | 'terms_agreed'
  | 'used_on'
>;
