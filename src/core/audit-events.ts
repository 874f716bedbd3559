// The audit log: every change with who made it, and what stood there before and after.
import { type AuditRecord, appendAudit, recordedAt } from '../store/audit.ts';
import { type AuditFilter, type AuditRow, listAuditRows } from '../store/audit-events.ts';
import type { Tx } from '../store/database.ts';
import { withoutSecrets } from '../telemetry/redact.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { newUuid } from './ids.ts';
import type { ObjectKind } from './object-kinds.ts';
import { type Page, type PageRequest, pageOf } from './paging.ts';

type AuditedValue =
  | string
  | number
  | boolean
  | Date
  | null
  | undefined
  | readonly AuditedValue[]
  | { readonly [name: string]: AuditedValue };
/** Fields as /v1 names them. */
type AuditedFields = Readonly<Record<string, AuditedValue>>;

export type Change = {
  /** A verb: `create`, `update`, `delete`, `revoke`, `cancel`, `use`, `issue`. */
  readonly action: string;
  readonly kind: ObjectKind;
  readonly id: string;
  readonly before?: AuditedFields;
  readonly after?: AuditedFields;
};

export type AuditEventView = {
  readonly id: string;
  readonly createdAt: Date;
  readonly actorKind: AuditRow['actor_kind'];
  readonly actor: string;
  readonly action: string;
  readonly objectKind: string;
  readonly objectId: string | undefined;
  readonly requestId: string | undefined;
  readonly before: AuditedFields | undefined;
  readonly after: AuditedFields | undefined;
};

/**
 * Writes the record of a change in the transaction that makes it, so that there is neither without the other. Of fields
 * given both before and after, those that differ are kept. Secrets are left out, whatever is passed.
 */
export const recordChange = (tx: Tx, actor: Actor, now: Date, change: Change): Promise<void> =>
  recordChanges(tx, actor, now, [change]);

/** As recordChange, for what is done to many at once. */
export async function recordChanges(tx: Tx, actor: Actor, now: Date, changes: readonly Change[]): Promise<void> {
  await appendAudit(tx, ...changes.map((change) => recordOf(actor, now, change)));
}

/** One page of records, ordered by time. Throws `unknown_cursor`. */
export async function listAuditEvents(ca: Ca, filter: AuditFilter, page: PageRequest): Promise<Page<AuditEventView>> {
  return pageOf(await listAuditRows(ca.database.db, filter, page), viewOf);
}

/** For a statement that writes the record together with the change itself. */
export function recordOf(actor: Actor, now: Date, change: Change): AuditRecord {
  const { before, after } = onlyChanged(change);
  return {
    id: newUuid(now),
    actorKind: actor.kind,
    actor: actor.name,
    action: change.action,
    objectKind: change.kind,
    objectId: change.id,
    ...(actor.requestId !== undefined && { requestId: actor.requestId }),
    detail: {
      ...(before && { before: withoutSecretFields(before) }),
      ...(after && { after: withoutSecretFields(after) }),
    },
  };
}

function onlyChanged({ before, after }: Change): Pick<Change, 'before' | 'after'> {
  if (before === undefined || after === undefined) return { ...(before && { before }), ...(after && { after }) };
  const differs = ([name]: readonly [string, unknown]) => asJson(before[name]) !== asJson(after[name]);
  return {
    before: Object.fromEntries(Object.entries(before).filter(differs)),
    after: Object.fromEntries(Object.entries(after).filter(differs)),
  };
}

const secretFields = new Set(['private_key', 'mac_key', 'mac_sealed', 'token', 'sha256', 'secret', 'password']);

const withoutSecretFields = (fields: AuditedFields): unknown =>
  JSON.parse(
    asJson(fields, (name, value) => {
      if (secretFields.has(name)) return undefined;
      return typeof value === 'string' ? withoutSecrets(value) : value;
    }) ?? 'null',
  );

const asJson = (value: unknown, replacer?: (name: string, value: unknown) => unknown): string | undefined =>
  JSON.stringify(value, replacer);

function viewOf(row: AuditRow): AuditEventView {
  const detail = isFields(row.detail) ? row.detail : {};
  return {
    id: row.id,
    createdAt: recordedAt(row.id),
    actorKind: row.actor_kind,
    actor: row.actor,
    action: row.action,
    objectKind: row.object_kind,
    objectId: row.object_id ?? undefined,
    requestId: row.request_id ?? undefined,
    before: isFields(detail.before) ? detail.before : undefined,
    after: isFields(detail.after) ? detail.after : undefined,
  };
}

const isFields = (value: unknown): value is AuditedFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
