// Who made a row: the columns that say it, and the guard of statements that change rows for /v1.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Tx } from './database.ts';

/** What every row that a custom resource may own has, for who is about to change it. */
export const ownedColumns = ['id', 'origin', 'origin_namespace', 'origin_name', 'orphaned_at', 'version'] as const;

/** Rows of a custom resource change with it alone; one that it left behind (Retain) belongs to nobody. */
export const isChangeable = sql<SqlBool>`(origin <> 'kubernetes' or orphaned_at is not null)`;

/** Which custom resource writes, and which of its states. */
export type Fence = { readonly uid: string; readonly generation: number };

/** Rows of this custom resource, unless a later state of it has written them. */
export const isWithin = ({ uid, generation }: Fence): RawBuilder<SqlBool> =>
  sql`(origin = 'kubernetes' and orphaned_at is null and origin_uid = ${uid} and origin_generation <= ${generation})`;

/** The custom resource that a row belongs to. */
export type Owner = { readonly namespace: string; readonly name: string };

/** Makes the operator visit custom resources whose rows another door has changed, once the transaction commits. */
export async function notifyOwners(
  tx: Tx,
  kind: 'signing_cert' | 'directory' | 'external_binding' | 'acme_key',
  owners: readonly Owner[],
): Promise<void> {
  if (owners.length === 0) return;
  const payloads = owners.map((owner) => JSON.stringify({ kind, ...owner }));
  await sql`select pg_notify('acmery_owned', payload) from unnest(${payloads}::text[]) as payload`.execute(tx);
}
