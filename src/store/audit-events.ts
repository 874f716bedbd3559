// Reading the audit log; audit.ts writes it.
import { type Selectable, type SqlBool, sql } from 'kysely';
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
  const query = db.selectFrom('audit').select(columns);
  if (objectId === undefined) {
    const within = actor === undefined ? {} : { actor };
    return readPage(db, query, { table: 'audit', within, columns: ['id'] }, page);
  }
  // An object has few records and an actor many, but the planner, from whom this hides the actor, may think otherwise.
  const own = actor === undefined ? query : query.where(sql<SqlBool>`coalesce(actor = ${actor}, false)`);
  return readPage(db, own, { table: 'audit', within: { object_id: objectId }, columns: ['id'] }, page);
}
