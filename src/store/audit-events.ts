// Reading the audit log; audit.ts writes it.
import type { Selectable } from 'kysely';
import type { Db } from './database.ts';
import { type PageOfRows, type PageRequest, readPage } from './keyset.ts';
import type { Tables } from './tables.ts';

export type AuditRow = Selectable<Tables['audit']>;

export type AuditFilter = { readonly objectId?: string | undefined; readonly actor?: string | undefined };

export function listAuditRows(
  db: Db,
  { objectId, actor }: AuditFilter,
  page: PageRequest,
): Promise<PageOfRows<AuditRow> | undefined> {
  const columns = ['id', 'actor_kind', 'actor', 'action', 'object_kind', 'object_id', 'request_id', 'detail'] as const;
  const all = db.selectFrom('audit').select(columns);
  // Both at once: an object has fewer records than an actor, so its index is walked.
  const query = objectId !== undefined && actor !== undefined ? all.where('actor', '=', actor) : all;
  const within = {
    ...(objectId !== undefined && { object_id: objectId }),
    ...(objectId === undefined && actor !== undefined && { actor }),
  };
  return readPage(db, query, { table: 'audit', within, columns: ['id'] }, page);
}
