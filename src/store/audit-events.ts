// Reading the audit log; audit.ts writes it.
import type { Kysely, Selectable } from 'kysely';
import { type PageOfRows, type PageRequest, readPage } from './keyset.ts';
import type { Tables } from './tables.ts';

export type AuditRow = Selectable<Tables['audit']>;

export type AuditFilter = { readonly objectId?: string | undefined; readonly actor?: string | undefined };

export function listAuditRows(
  db: Kysely<Tables>,
  { objectId, actor }: AuditFilter,
  page: PageRequest,
): Promise<PageOfRows<AuditRow> | undefined> {
  const columns = ['id', 'actor_kind', 'actor', 'action', 'object_kind', 'object_id', 'request_id', 'detail'] as const;
  let query = db.selectFrom('audit').select(columns);
  if (objectId !== undefined) query = query.where('object_id', '=', objectId);
  if (actor !== undefined) query = query.where('actor', '=', actor);
  return readPage(db, query, { table: 'audit', columns: ['id'] }, page);
}
