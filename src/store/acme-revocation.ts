// Statements of revokeCert: the certificate that a client shows, whether it may revoke it, and reasons that get worse.
import { type Selectable, type SqlBool, sql } from 'kysely';
import type { Db, Tx } from './database.ts';
import type { Identifier, Tables } from './tables.ts';

export type ShownCertRow = Pick<Selectable<Tables['issued_certs']>, (typeof COLUMNS)[number]>;

/** As authorizations name it: without the `*.` of a wildcard. */
export type AuthorizedName = Identifier & { readonly wildcard: boolean };

const COLUMNS = [
  'id',
  'acme_key_id',
  'signing_cert_id',
  'serial',
  'not_after',
  'revoked_at',
  'reason',
  'key_thumbprint',
] as const satisfies readonly (keyof Tables['issued_certs'])[];

/** Byte for byte (REV-9); of several CAs that chose one serial number, the bytes tell which it is. */
export const findCertByBytes = (
  db: Db,
  directoryId: string,
  { serial, der }: { readonly serial: Buffer; readonly der: Buffer },
): Promise<ShownCertRow | undefined> =>
  db
    .selectFrom('issued_certs')
    .select(COLUMNS)
    .where('serial', '=', serial)
    .where(sql<SqlBool>`(der = ${der} and directory_id = ${directoryId}) is true`)
    .executeTakeFirst();

/** For who is about to decide by its revocation. */
export const lockIssuedCert = (tx: Tx, id: string): Promise<ShownCertRow | undefined> =>
  tx.selectFrom('issued_certs').select(COLUMNS).where('id', '=', id).forUpdate().executeTakeFirst();

/** Whether an account has proved control of every one of the names, and the proof still counts (REV-1, REV-6). */
export async function holdsAuthorizations(
  db: Db,
  acmeKeyId: string,
  names: readonly AuthorizedName[],
  now: Date,
): Promise<boolean> {
  const column = <Name extends keyof AuthorizedName>(name: Name) => names.map((row) => row[name]);
  const { rows } = await sql<{ readonly holds: boolean }>`
    select bool_and(exists (
             select from authorizations a
              where a.acme_key_id = ${acmeKeyId} and a.type = name.type and a.value = name.value
                and a.wildcard = name.wildcard
                and (a.expires_at > ${now} and a.state = 'valid' and not a.auto) is true)) as holds
      from unnest(${column('type')}::text[], ${column('value')}::text[], ${column('wildcard')}::boolean[])
           as name (type, value, wildcard)`.execute(db);
  return rows[0]?.holds === true;
}

type Upgrade = { readonly reason: number; readonly entry: Buffer; readonly now: Date };

/** Gives a locked, revoked certificate another reason, and its revocation the entry for it (REV-3). */
export async function upgradeRevocation(
  tx: Tx,
  { id, signing_cert_id, serial }: ShownCertRow,
  { reason, entry, now }: Upgrade,
): Promise<void> {
  await sql`
    with upgraded as (update issued_certs set reason = ${reason} where id = ${id} and (state = 'revoked') is true)
    update revocations set entry = ${entry}, changed_at = ${now}
     where signing_cert_id = ${signing_cert_id} and serial = ${serial}`.execute(tx);
}
