// Who made a row: the columns that say it, and the guards of statements that change rows.
import type { SqlBool } from 'kysely';
import type { Tx } from './database.ts';
import { type Statement, sql, verbatim } from './statement.ts';

/** What every row that a custom resource may own has, for who is about to change it. */
export const ownedColumns = [
  'id',
  'origin',
  'origin_namespace',
  'origin_name',
  'origin_uid',
  'origin_generation',
  'orphaned_at',
  'version',
] as const;

/** Rows of a custom resource change with it alone; one that it left behind (Retain) belongs to nobody. */
export const isChangeable = sql<SqlBool>`(origin <> 'kubernetes' or orphaned_at is not null)`;

/** Which custom resource writes, and which of its states. */
export type Fence = { readonly uid: string; readonly generation: number };

/** Rows of this custom resource, unless a later state of it has written them. */
export const isWithin = ({ uid, generation }: Fence): Statement<SqlBool> =>
  sql`(origin = 'kubernetes' and orphaned_at is null and origin_uid = ${uid} and origin_generation <= ${generation})`;

/** Whether /v1, or the custom resource of this fence, may change the row. */
export const isChangeableBy = (fence: Fence | undefined) => (fence === undefined ? isChangeable : isWithin(fence));

/** The row belongs to whom it belonged when it was seen. */
export const isOwnedAs = ({
  origin,
  origin_uid: uid,
}: {
  readonly origin: string;
  readonly origin_uid: string | null;
}) => sql<SqlBool>`(origin = ${origin} and origin_uid is not distinct from ${uid})`;

/** The custom resource that a row belongs to. */
export type Owner = { readonly namespace: string; readonly name: string };

/** How a custom resource finds its row; `adopt` is the uuid of another one that it is to take over. */
export type DeclaredAs = Owner & { readonly adopt?: string | undefined };

/** Its own row, orphaned or not, and the one that it is to take over; not deleted. */
export const isDeclaredAs = (table: 'signing_certs' | 'directories', { namespace, name, adopt }: DeclaredAs) =>
  sql<SqlBool>`id = any(array(
    select id from ${verbatim(table)}
     where origin = 'kubernetes' and origin_namespace = ${namespace} and origin_name = ${name} and deleted_at is null
     union all
    select ${adopt ?? null}::uuid)) and (deleted_at is null) is true`;

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

type OwnedBelow = Owner & { readonly kind: 'directory' | 'signing_cert' };

/** The custom resources of what leans on a CA cert: directories that issue from it, and CA certs that it signed. */
export async function ownersBelow(tx: Tx, signingCertId: string): Promise<readonly OwnedBelow[]> {
  const { rows } = await sql<OwnedBelow>`
    select 'directory' as kind, origin_namespace as namespace, origin_name as name from directories
     where signing_cert_id = ${signingCertId} and (deleted_at is null and not ${isChangeable}) is true
     union all
    select 'signing_cert', origin_namespace, origin_name from signing_certs
     where parent_id = ${signingCertId} and (deleted_at is null and not ${isChangeable}) is true`.execute(tx);
  return rows;
}
