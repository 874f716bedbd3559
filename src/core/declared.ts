// A custom resource as the core knows it: whose row it is, and which of its states this is.
import type { Actor } from './caller.ts';
import { CaError } from './errors.ts';
import { formatId, parseId } from './ids.ts';
import { changedMeanwhile, objectKinds } from './object-kinds.ts';
import {
  type Author,
  customResourceKinds,
  type Declared,
  type DeclaredKind,
  type OwnedState,
  requireChangeable,
} from './origin.ts';

export type { Declared };

/** What applying a declaration came to. `adopted`: the row was there, and was another object's, or nobody's. */
export type AppliedAs = 'created' | 'adopted' | 'updated' | 'unchanged';

/** What a row says of the custom resource that it belongs to, or once belonged to. */
type Declaration = {
  readonly id: string;
  readonly origin_uid: string | null;
  readonly origin_generation: number | null;
  readonly orphaned_at: Date | null;
};

/** As audit records name a custom resource. */
export const customResource = ({ namespace, name }: Pick<Declared, 'namespace' | 'name'>): Actor => ({
  kind: 'custom_resource',
  name: `${namespace}/${name}`,
});

/** A custom resource as one who writes. */
export const authorOf = (declared: Declared): Author => ({ ...customResource(declared), declared });

/**
 * Whether the row is the object's own; else it is that of an object of the same name that is gone, or of nobody. Throws
 * `conflict` where a later state of the object has written it.
 */
export function isOwn(kind: DeclaredKind, { uid, generation }: Declared, row: Declaration): boolean {
  if (row.origin_uid !== uid || row.orphaned_at !== null) return false;
  const later = row.origin_generation ?? 0;
  if (later <= generation) return true;
  throw new CaError(
    'conflict',
    `Generation ${later} of this object was applied to its ${objectKinds[kind].noun} already, and this is generation ${generation}. If the cluster was restored from a backup, delete the object with annotation acmery.io/force-delete and declare it again.`,
  );
}

/**
 * Throws `managed_by_kubernetes` where a row of a custom resource is to be changed through /v1, and `conflict` where it is
 * not, or no longer, that of the object that is to change it.
 */
export function requireChangeableBy(kind: DeclaredKind, row: OwnedState & Declaration, { declared }: Author): void {
  if (declared === undefined) requireChangeable(kind, row);
  else if (!isOwn(kind, declared, row)) throw changedMeanwhile(kind);
}

/** The uuid that the annotation `adopt` names. Throws `invalid` where it is no id of the kind. */
export function adoptedId(kind: DeclaredKind, { adopt }: Declared): string | undefined {
  if (adopt === undefined) return undefined;
  const { prefix, noun } = objectKinds[kind];
  const uuid = parseId(prefix, adopt);
  if (uuid !== undefined) return uuid;
  throw new CaError(
    'invalid',
    `The annotation acmery.io/adopt has to be the id of one ${noun}, which begins with ${prefix}_; correct or remove it.`,
  );
}

/** The refusal to take what is there, and is not what the object declares. `fields`: what differs, as the spec names it. */
export function alreadyExists(kind: DeclaredKind, row: Declaration, fields: readonly string[]): CaError {
  const { prefix, noun } = objectKinds[kind];
  const id = formatId(prefix, row.id);
  const left = row.orphaned_at === null ? 'of an earlier one' : 'which an earlier one has left behind';
  return new CaError(
    'already_exists',
    `The ${noun} of this ${customResourceKinds[kind]} is there already, ${id}, ${left} that differed in ${fields.join(' and ')}, and that never changes. Declare it as it was, or choose another name for this object.`,
  );
}
