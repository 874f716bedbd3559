// What the status page says of issued certs beyond their lists, and the certificates of a key.
import { type Selectable, sql } from 'kysely';
import type { Db } from './database.ts';
import type { Tables } from './tables.ts';

export type CertFactsRow = Pick<
  Selectable<Tables['issued_certs']>,
  'id' | 'serial' | 'not_before' | 'replaced_by' | 'revoked_at' | 'key_thumbprint'
>;

export async function findCertFacts(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, CertFactsRow>> {
  const { rows } = await sql<CertFactsRow>`
    select id, serial, not_before, replaced_by, revoked_at, key_thumbprint
      from issued_certs where id = any(${ids}::uuid[])`.execute(db);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Ids of so many certificates of a key, in no order: a key has few. */
export async function findCertIdsOfKey(db: Db, thumbprint: Buffer, limit: number): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly id: string }>`
    select id from issued_certs where key_thumbprint = ${thumbprint} limit ${sql.lit(limit)}`.execute(db);
  return rows.map(({ id }) => id);
}
