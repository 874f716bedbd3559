// Ids inside bodies.
import { parseId } from '../core/ids.ts';
import { type ObjectKind, objectKinds } from '../core/object-kinds.ts';

/** The body with a uuid where the id of such an object stands: the core works with uuids. */
export function withUuid<K extends ObjectKind, B extends { readonly [F in `${K}_id`]?: string | null }>(
  kind: K,
  body: B,
): B {
  const field = `${kind}_id` as const;
  const id = body[field];
  return typeof id === 'string' ? { ...body, [field]: uuidOf(kind, id) } : body;
}

/** The uuid in an id whose form the body's schema has checked. */
export function uuidOf(kind: ObjectKind, id: string): string {
  const uuid = parseId(objectKinds[kind].prefix, id);
  if (uuid === undefined) throw new Error(`An id of another kind than ${kind} came through the schema of a body.`);
  return uuid;
}
