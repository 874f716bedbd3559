// Who made a row: the columns that say it, and the guard of statements that change rows for /v1.
import { type SqlBool, sql } from 'kysely';
import type { Tx } from './database.ts';

/** Rows of a custom resource change with it alone; one that it left behind (Retain) belongs to nobody. */
export const isChangeable = sql<SqlBool>`(origin <> 'kubernetes' or orphaned_at is not null)`;

/** The custom resource that a row belongs to. */
export type Owner = { readonly namespace: string; readonly name: string };

/** Makes the operator visit a custom resource whose row another door has changed, once the transaction commits. */
export async function notifyOwner(tx: Tx, kind: 'external_binding' | 'acme_key', owner: Owner): Promise<void> {
  await sql`select pg_notify('acmery_owned', ${JSON.stringify({ kind, ...owner })})`.execute(tx);
}
