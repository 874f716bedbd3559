// /v1/audit_events: who changed what, and when.
import { type AuditEventView, listAuditEvents } from '../core/audit-events.ts';
import { actorKinds } from '../core/caller.ts';
import { formatId } from '../core/ids.ts';
import { type ObjectKind, objectKinds } from '../core/object-kinds.ts';
import { closed, described, nullable, oneOf, Type } from '../schema/define.ts';
import { resourceId, timestamp } from '../schema/fragments.ts';
import { formatSeconds } from '../schema/timestamp.ts';
import { listRoute } from './paging.ts';
import { anyIdParameter, textParameter } from './parameters.ts';
import type { ApiRoute } from './route.ts';
import { named } from './shapes.ts';

const text = (description: string, examples: readonly string[]) => Type.String({ description, examples });
const fields = (description: string) => Type.Unsafe<unknown>({ type: ['object', 'null'], description });

const auditEvent = named(
  'AuditEvent',
  closed({
    id: described(resourceId('audt'), 'The id of this resource.'),
    object: oneOf(['audit_event'], { description: 'The kind of this resource.' }),
    created_at: described(timestamp, 'When it happened.'),
    actor_kind: oneOf(actorKinds, { description: 'What kind of actor it was.' }),
    actor: text('Who it was: the id of an API token or account key, or a name.', ['bootstrap']),
    action: text('What was done.', ['create']),
    object_kind: text('The kind of the resource that it was done to.', ['directory']),
    object_id: nullable(text('The id of that resource.', ['dir_01k5w3v8q2e7rbs9x4m6tfhz0j'])),
    request_id: nullable(text('The X-Request-Id under which it was asked for.', ['0d3a1c52-7f6e-4f0b'])),
    before: fields('The fields as they were; of an update only those that changed. Never a secret.'),
    after: fields('The fields as they became.'),
  }),
);

export const auditEventRoutes: readonly ApiRoute[] = [
  listRoute({
    path: '/v1/audit_events',
    operationId: 'listAuditEvents',
    tag: 'Audit events',
    summary: 'List changes',
    permission: 'admin',
    kind: 'audit_event',
    filters: {
      object_id: anyIdParameter('Only changes of this resource.'),
      actor: textParameter('Only changes by this actor.'),
    },
    defaultDirection: 'desc',
    item: auditEvent,
    list: ({ ca, filters, page }) => listAuditEvents(ca, { objectId: filters.object_id, actor: filters.actor }, page),
    render: renderAuditEvent,
  }),
];

function renderAuditEvent(event: AuditEventView) {
  return {
    id: formatId('audt', event.id),
    object: 'audit_event',
    created_at: formatSeconds(event.createdAt),
    actor_kind: event.actorKind,
    actor: event.actor,
    action: event.action,
    object_kind: event.objectKind,
    object_id: objectIdOf(event) ?? null,
    request_id: event.requestId ?? null,
    before: event.before ?? null,
    after: event.after ?? null,
  };
}

const objectIdOf = ({ objectKind, objectId }: AuditEventView): string | undefined =>
  objectId !== undefined && isObjectKind(objectKind) ? formatId(objectKinds[objectKind].prefix, objectId) : undefined;

const isObjectKind = (kind: string): kind is ObjectKind => Object.hasOwn(objectKinds, kind);
