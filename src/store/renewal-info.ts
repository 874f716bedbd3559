// Statements on certificates that are to be renewed: found by the names that renewal information has for them.
import type { Selectable, SqlBool } from 'kysely';
import type { Db } from './database.ts';
import { type Statement, sql } from './statement.ts';
import type { Tables } from './tables.ts';

type Certs = Selectable<Tables['issued_certs']>;

/** A certificate of a directory: its serial number, and the key that signed it. */
export type RenewalKey = { readonly directoryId: string; readonly serial: Buffer; readonly keyIdentifier: Buffer };

export type RenewableCert = Pick<
  Certs,
  'id' | 'acme_key_id' | 'signing_cert_id' | 'serial' | 'subjects' | 'not_before' | 'not_after' | 'revoked_at'
> & {
  readonly issuer_revoked_at: Date | null;
  /** By an order that is not invalid. */
  readonly is_replaced: boolean;
};

export async function findRenewableCert(
  db: Db,
  { directoryId, serial, keyIdentifier }: RenewalKey,
  now: Date,
): Promise<RenewableCert | undefined> {
  // A CA certificate may have been made anew with the same key; the serial number is random all the same.
  const { rows } = await sql<RenewableCert>`
    select c.id, c.acme_key_id, c.signing_cert_id, c.serial, c.subjects, c.not_before, c.not_after, c.revoked_at,
           issuer.revoked_at as issuer_revoked_at, not (${isFree(sql`c.replaced_by`, now)}) as is_replaced
      from (select * from issued_certs where serial = ${serial} offset 0) c
      join signing_certs issuer on issuer.id = c.signing_cert_id and (issuer.ski = ${keyIdentifier}) is true
     where c.directory_id = ${directoryId}
     order by c.id desc limit 1`.execute(db);
  return rows[0];
}

/** Whether a key is that of a CA which is, or was, in this service. */
export async function isOurKey(db: Db, keyIdentifier: Buffer): Promise<boolean> {
  const query = db.selectFrom('signing_certs').select('id').where('ski', '=', keyIdentifier).limit(1);
  return (await query.executeTakeFirst()) !== undefined;
}

/**
 * For the statement that makes the orders that stand in `seen`: ties each certificate to the first that replaces it, where no
 * other order has it, and gives the order. Of two at once the second waits, and finds it tied: an order that its snapshot
 * does not show is not invalid.
 */
export const replacements: Statement<unknown> = sql`
  update issued_certs
     set replaced_by = (select id from seen where replaced_cert_id = issued_certs.id order by asked limit 1)
   where id = any(array(select replaced_cert_id from seen))
     and (${isFree(sql`replaced_by`, sql`(select max(created_at) from seen)`)})
  returning replaced_by as order_id`;

/** ARI-8. An order that is gone was not invalid: those take their tie with them. */
function isFree(replacedBy: Statement<unknown>, now: Date | Statement<Date>): Statement<SqlBool> {
  return sql`
  ${replacedBy} is null or exists (
    select from orders where orders.id = ${replacedBy}
       and (orders.state = 'invalid' or (orders.state in ('pending', 'ready') and orders.expires_at <= ${now})))`;
}
