// Ids inside bodies.
import { parseId } from '../core/ids.ts';
import { type ObjectKind, objectKinds } from '../core/object-kinds.ts';

/** The uuid in an id whose form the body's schema has checked. */
export function uuidOf(kind: ObjectKind, id: string): string {
  const uuid = parseId(objectKinds[kind].prefix, id);
  if (uuid === undefined) throw new Error(`An id of another kind than ${kind} came through the schema of a body.`);
  return uuid;
}
