// The audit log: appending to it.
import type { Insertable } from 'kysely';
import { broughtRows } from './brought-rows.ts';
import type { Db } from './database.ts';
import { type Statement, sql } from './statement.ts';
import type { Tables } from './tables.ts';

export type AuditRecord = {
  readonly id: string;
  readonly actorKind: Insertable<Tables['audit']>['actor_kind'];
  /** Who, in the words of its kind: a token's id, `system:serviceaccount:ns:name`, `ns/name` of a custom resource. */
  readonly actor: string;
  readonly action: string;
  readonly objectKind: string;
  readonly objectId?: string;
  readonly requestId?: string;
  /** Before and after; never a secret. */
  readonly detail?: object;
};

export async function appendAudit(db: Db, ...records: readonly AuditRecord[]): Promise<void> {
  const column = <Value>(read: (record: AuditRecord) => Value | undefined) =>
    records.map((record) => read(record) ?? null);
  await sql`
    insert into audit (id, actor_kind, actor, action, object_kind, object_id, request_id, detail)
    select id, actor_kind, actor, action, object_kind, object_id, request_id, detail::jsonb
      from unnest(${column(({ id }) => id)}::uuid[], ${column(({ actorKind }) => actorKind)}::text[],
                  ${column(({ actor }) => actor)}::text[], ${column(({ action }) => action)}::text[],
                  ${column(({ objectKind }) => objectKind)}::text[], ${column(({ objectId }) => objectId)}::uuid[],
                  ${column(({ requestId }) => requestId)}::text[],
                  ${column(({ detail }) => (detail === undefined ? undefined : JSON.stringify(detail)))}::text[])
        as record (id, actor_kind, actor, action, object_kind, object_id, request_id, detail)`.execute(db);
}

/** Writes a record for the only row of `source`, or none where it has no row: a part of the statement that makes the change. */
export const auditOf = (source: Statement<unknown>, record: AuditRecord): Statement<unknown> => sql`
  insert into audit (id, actor_kind, actor, action, object_kind, object_id, request_id, detail)
  select ${record.id}::uuid, ${record.actorKind}::text, ${record.actor}::text, ${record.action}::text,
         ${record.objectKind}::text, ${record.objectId ?? null}::uuid, ${record.requestId ?? null}::text,
         ${record.detail === undefined ? null : JSON.stringify(record.detail)}::jsonb
    from ${source}`;

const recordRows = broughtRows('record', {
  of: 'uuid',
  id: 'uuid',
  actor_kind: 'text',
  actor: 'text',
  action: 'text',
  object_kind: 'text',
  object_id: 'uuid',
  request_id: 'text',
  detail: 'jsonb',
});

/** The same for a source of several rows: each record is written if the row whose id it is `of` is there. */
export const auditOfEach = (
  source: Statement<unknown>,
  records: readonly (AuditRecord & { readonly of: string })[],
): Statement<unknown> => sql`
  insert into audit (id, actor_kind, actor, action, object_kind, object_id, request_id, detail)
  select record.id, actor_kind, actor, action, object_kind, object_id, request_id, detail
    from ${recordRows(records.map(recordRow))}
   where record.of in (select id from ${source})
   order by record.id`;

const recordRow = ({
  actorKind: actor_kind,
  objectKind: object_kind,
  objectId: object_id,
  requestId: request_id,
  ...record
}: AuditRecord & { readonly of: string }) => ({ ...record, actor_kind, object_kind, object_id, request_id });

/** When a record was written: its id begins with the time. */
export const recordedAt = (id: string): Date => new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
