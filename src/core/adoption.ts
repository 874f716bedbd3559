// How a custom resource comes to a row that is there already: as its own, or by taking it over.
import type { Db, Tx } from '../store/database.ts';
import { DatabaseError } from '../store/database-error.ts';
import type { DeclaredAs, Fence, Owner } from '../store/origin.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import { type AppliedAs, adoptedId, customResource, type Declared, isOwn } from './declared.ts';
import { CaError, type FieldProblem } from './errors.ts';
import { formatId } from './ids.ts';
import { changedMeanwhile, found, objectKinds } from './object-kinds.ts';
import { customResourceKinds, type DeclaredKind, type OwnedState, ownerOf, requireChangeable } from './origin.ts';

export type Applied<View> = { readonly as: AppliedAs; readonly view: View };

/** How the row of an object is looked up. Throws `invalid` for an annotation `adopt` that is no id of the kind. */
export const declaredAs = (kind: DeclaredKind, declared: Declared): DeclaredAs => ({
  namespace: declared.namespace,
  name: declared.name,
  adopt: adoptedId(kind, declared),
});

/**
 * Whether the row is the object's own already, or is to be taken over: a row of /v1 and one with other immutable fields
 * (`differences`) only where the annotation names it, and these fields stay as they are. Throws `conflict` for a state
 * that is not the last one, `immutable` for a row of its own that differs, `already_exists` and `managed_by_kubernetes`.
 */
export function standingOf(
  kind: DeclaredKind,
  row: OwnedState & { readonly id: string },
  declared: Declared,
  differences: readonly FieldProblem[],
): 'own' | 'adopted' {
  const isNamed = row.id === adoptedId(kind, declared);
  if (isOwn(kind, declared, row)) {
    if (differences.length > 0 && !isNamed) throw immutable(kind, differences);
    return 'own';
  }
  const isOfThisName = row.origin_namespace === declared.namespace && row.origin_name === declared.name;
  if (!isOfThisName) requireChangeable(kind, row);
  // What an object left behind is not taken back by the very state that left it.
  if (row.origin_uid === declared.uid && (row.origin_generation ?? 0) >= declared.generation)
    throw changedMeanwhile(kind);
  if (differences.length > 0 && !isNamed) throw standsInTheWay(kind, row.id, differences);
  return 'adopted';
}

/** The refusal for what an object of the same name made, with the way to take it over. */
export function standsInTheWay(kind: DeclaredKind, id: string, differences: readonly FieldProblem[]): CaError {
  const { noun, prefix } = objectKinds[kind];
  const textId = formatId(prefix, id);
  const fields = differences.map(({ field }) => field).join(', ');
  return new CaError(
    'already_exists',
    `There is ${noun} ${textId} of this name already, with another ${fields}; choose another name, or take it over as it is by annotation acmery.io/adopt: ${textId}.`,
  );
}

/**
 * The refusal for what is nobody's and in the way. Its id is the right to take it over, and is for those who may read it:
 * whoever may declare an object could have it by naming it, else.
 */
export const nobodys = (what: string, otherwise: string): CaError =>
  new CaError(
    'already_exists',
    `${what}, which no custom resource declares; ${otherwise}, or take it over by the annotation acmery.io/adopt with its id, which /v1 shows to those who may read there.`,
  );

/** Two that apply one object at once meet here: who comes second looks again, and finds what the first has made. */
export async function untilAlone<Result>(constraints: readonly string[], work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const isTwin = error instanceof DatabaseError && constraints.includes(error.constraint ?? '');
      if (!isTwin || attempt === ATTEMPTS) throw error;
    }
  }
}

const ATTEMPTS = 3;

function immutable(kind: DeclaredKind, differences: readonly FieldProblem[]): CaError {
  const fields = differences.map(({ field }) => field).join(', ');
  return new CaError(
    'immutable',
    `The ${objectKinds[kind].noun} keeps ${fields}; undo that change, or declare another object.`,
    { problems: differences },
  );
}

/** The living row of nobody that the annotation `adopt` names. Throws `invalid`, `not_found` and `already_exists`. */
export async function namedRow<Row extends OwnedState>(
  ca: Ca,
  kind: DeclaredKind,
  declared: Declared,
  find: (db: Db, id: string) => Promise<Row | undefined>,
): Promise<Row | undefined> {
  const id = adoptedId(kind, declared);
  if (id === undefined) return undefined;
  const row = found(kind, id, await find(ca.database.db, id));
  const owner = ownerOf(row);
  if (owner === undefined) return row;
  const { prefix, noun } = objectKinds[kind];
  const who = `${customResourceKinds[kind]} ${owner.namespace}/${owner.name}`;
  throw new CaError(
    'already_exists',
    `The ${noun} ${formatId(prefix, id)} that the annotation acmery.io/adopt names cannot be taken over: it is that of ${who}.`,
  );
}

/** Makes the row that of the object, with the record of it. Throws `conflict` when it is no longer as it was seen. */
export const takenOver = <Row extends { readonly id: string }>(
  ca: Ca,
  kind: DeclaredKind,
  declared: Declared,
  seen: Row,
  { write, audited }: { readonly write: AdoptingWrite<Row>; readonly audited: (row: Row) => Audited },
): Promise<Row> =>
  ca.database.inTransaction(async (tx) => {
    const row = await write(tx, seen, declared, declared);
    if (row === undefined) throw changedMeanwhile(kind);
    const change = { action: 'adopt', kind, id: seen.id, after: audited(row) } as const;
    await recordChange(tx, customResource(declared), ca.clock.now(), change);
    return row;
  });

type AdoptingWrite<Row> = (tx: Tx, seen: Row, owner: Owner, fence: Fence) => Promise<Row | undefined>;
type Audited = NonNullable<Parameters<typeof recordChange>[3]['after']>;
