// Whom the keys of the key store belong to.
import { sql } from 'kysely';
import type { Db } from './database.ts';

/** `isSigning` where it is that of a living CA cert with a certificate, so that something needs it. */
export type KeyHolder = {
  readonly ref: string;
  readonly isSigning: boolean;
  /** Of the CA cert. */
  readonly id: string;
  readonly name: string;
  readonly der: Buffer | null;
};

/** Those of deleted CA certs too, as long as their keys have not been removed. */
export async function listKeyHolders(db: Db): Promise<readonly KeyHolder[]> {
  const { rows } = await sql<KeyHolder>`
    select key_ref as ref, deleted_at is null and der is not null as "isSigning", id, name, der
      from signing_certs where key_ref is not null
    union all
    select key_ref, false, signing_cert_id, '', null from ocsp_signers
    order by ref`.execute(db);
  return rows;
}
