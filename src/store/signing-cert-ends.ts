// When CA certs end.
import { sql } from 'kysely';
import type { Db } from './database.ts';

export type SigningCertEnd = { readonly id: string; readonly not_after: Date };

/** Of those that have a certificate and are neither deleted nor revoked. */
export async function listSigningCertEnds(db: Db): Promise<readonly SigningCertEnd[]> {
  const { rows } = await sql<SigningCertEnd>`
    select id, not_after from signing_certs
     where not_after is not null and deleted_at is null and revoked_at is null`.execute(db);
  return rows;
}
