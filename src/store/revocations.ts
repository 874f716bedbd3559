// Statements that revoke issued certificates, and the revocations that CRLs are made of.
import { type Insertable, type Selectable, sql } from 'kysely';
import { issuedCertLifecycle } from '../lifecycles/issued-cert.ts';
import { sourcesOf } from '../lifecycles/lifecycle.ts';
import type { Tx } from './database.ts';
import type { Tables } from './tables.ts';

/** One certificate, all that an account key ordered, or all of one key. */
export type CertSelection =
  | { readonly id: string }
  | { readonly acme_key_id: string }
  | { readonly key_thumbprint: Buffer };

export type RevokedCert = Pick<
  Selectable<Tables['issued_certs']>,
  'id' | 'signing_cert_id' | 'serial' | 'not_after' | 'key_thumbprint'
>;
type NewRevocation = Insertable<Tables['revocations']>;

/**
 * Revokes selected certificates that are neither revoked nor expired, at most `limit` of them, and gives those that it
 * did. A later call sees what has been committed since.
 */
export async function revokeLiveCerts(
  tx: Tx,
  selection: CertSelection,
  { reason, now, limit }: { readonly reason: number; readonly now: Date; readonly limit: number },
): Promise<readonly RevokedCert[]> {
  const [[column, value] = []] = Object.entries(selection);
  const isLive = sql`(revoked_at is null and not_after > ${now})`;
  // Those of an account are walked in the order of an index of theirs; of an id or a key there are few.
  const live = column === 'acme_key_id' ? isLive : sql`${isLive} is true`;
  const { rows } = await sql<RevokedCert>`
    update issued_certs set state = 'revoked', revoked_at = ${now}, reason = ${reason}
     where id = any(array(select id from issued_certs
                           where ${sql.ref(column ?? 'id')} = ${value} and ${live}
                           order by not_after, id limit ${limit} for update))
       and (state = any(${sourcesOf(issuedCertLifecycle, 'revoked')})) is true
    returning id, signing_cert_id, serial, not_after, key_thumbprint`.execute(tx);
  return rows;
}

export async function insertRevocations(tx: Tx, revocations: readonly NewRevocation[]): Promise<void> {
  const column = <C extends keyof NewRevocation>(name: C) => revocations.map((revocation) => revocation[name]);
  await sql`
    insert into revocations (signing_cert_id, serial, revoked_at, changed_at, not_after, entry)
    select * from unnest(${column('signing_cert_id')}::uuid[], ${column('serial')}::bytea[],
                         ${column('revoked_at')}::timestamptz[], ${column('changed_at')}::timestamptz[],
                         ${column('not_after')}::timestamptz[], ${column('entry')}::bytea[])`.execute(tx);
}

/** Whether a CA has revoked a serial number, of a leaf or of a CA certificate, also of one that is deleted. */
export async function isRevokedBy(tx: Tx, signingCertId: string, serial: Buffer): Promise<boolean> {
  const { rows } = await sql`
    select from revocations where signing_cert_id = ${signingCertId} and serial = ${serial}`.execute(tx);
  return rows.length > 0;
}
