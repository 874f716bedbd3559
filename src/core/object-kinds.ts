// The kinds of objects that have an id: their prefix, and the word that sentences use.
import { CaError } from './errors.ts';
import { formatId, type IdPrefix, parseId } from './ids.ts';

/** The keys are the values of `object` in /v1. */
export const objectKinds = {
  signing_cert: { prefix: 'scrt', noun: 'CA cert' },
  directory: { prefix: 'dir', noun: 'directory' },
  external_binding: { prefix: 'eab', noun: 'EAB token' },
  acme_key: { prefix: 'acmk', noun: 'account key' },
  order: { prefix: 'ordr', noun: 'order' },
  issued_cert: { prefix: 'icrt', noun: 'issued cert' },
  api_token: { prefix: 'atok', noun: 'API token' },
  audit_event: { prefix: 'audt', noun: 'audit event' },
} as const satisfies Record<string, { prefix: IdPrefix; noun: string }>;

export type ObjectKind = keyof typeof objectKinds;

/** The refusal to speak of an object that is not there. */
export const notFound = (kind: ObjectKind, uuid: string): CaError =>
  new CaError('not_found', `There is no ${objectKinds[kind].noun} ${formatId(objectKinds[kind].prefix, uuid)}.`);

/** What was read of an object. Throws `not_found` where there is none. */
export function found<Row>(kind: ObjectKind, uuid: string, row: Row | undefined): Row {
  if (row === undefined) throw notFound(kind, uuid);
  return row;
}

/** The refusal of a field that names an object that is not there. */
export const unknownReference = (kind: ObjectKind, uuid: string): CaError =>
  new CaError('unknown_reference', notFound(kind, uuid).message, { field: `${kind}_id` });

/** The refusal of a change that was decided by what no longer stands there. */
export const changedMeanwhile = (kind: ObjectKind): CaError =>
  new CaError(
    'conflict',
    `Somebody else changed this ${objectKinds[kind].noun} at the same time; read it again and decide anew.`,
  );

/** The uuid in an id of any kind; undefined for what is no id. */
export function parseAnyId(id: string): string | undefined {
  for (const { prefix } of Object.values(objectKinds)) {
    const uuid = parseId(prefix, id);
    if (uuid !== undefined) return uuid;
  }
  return undefined;
}
