// The EAB token that a custom resource declares: made once, compared at every visit, and never changed once it was used.
import {
  adoptBinding,
  type DeclaredBindingRow,
  findBindingToAdopt,
  findDeclaredBinding,
  findKeyIdHolder,
  insertDeclaredBinding,
  type NewDeclaredBinding,
  replaceDeclaredBinding,
} from '../store/declared-bindings.ts';
import type { Owner } from '../store/origin.ts';
import { namedRow, nobodys, takenOver } from './adoption.ts';
import { recordChanges, recordOf } from './audit-events.ts';
import type { Ca } from './ca.ts';
import { newBinding } from './create-external-binding.ts';
import { type AppliedAs, alreadyExists, customResource, type Declared, isOwn } from './declared.ts';
import { type DeclaredBindingView, declaredBindingView } from './declared-binding-view.ts';
import { differing } from './differing.ts';
import { CaError } from './errors.ts';
import { auditedExternalBinding } from './external-bindings.ts';
import { formatId } from './ids.ts';
import { changedMeanwhile, unknownReference } from './object-kinds.ts';
import type { OrderValidations } from './order-validations.ts';
import { ownerOf } from './origin.ts';
import { writeExternalBinding } from './update-external-binding.ts';

export type DeclaredBinding = {
  /** A uuid. */
  readonly directory_id: string;
  readonly key_id: string;
  /** Whether the spec names the key id; else a token that is there may have another. */
  readonly isKeyIdGiven: boolean;
  readonly name: string;
  readonly order_validations: OrderValidations;
  /** Another text than the one last answered asks for a new MAC key. */
  readonly renew?: string;
  /** Whether there is probably no token yet: then it is made without looking for it first. */
  readonly isNew: boolean;
};

const KIND = 'external_binding';
const adoption = { write: adoptBinding, audited: auditedExternalBinding };

export type AppliedBinding = {
  /** `replaced`: another token, with another MAC key, is in the place of the one before. */
  readonly as: AppliedAs | 'replaced';
  readonly view: DeclaredBindingView;
  /** What the token keeps otherwise than declared, because it was used. */
  readonly kept: readonly ('name' | 'order_validations')[];
};

/**
 * Makes the token, takes it over, or makes an unused one what it is declared as; one statement where it is new or as
 * declared. Holds the directory against deletion. Throws `unknown_reference`, `key_id_taken`, `immutable`,
 * `already_exists`, `not_found` for the one to adopt, `conflict` for an earlier state of the object, and `unavailable`.
 */
export async function applyExternalBinding(
  ca: Ca,
  declared: Declared,
  wanted: DeclaredBinding,
): Promise<AppliedBinding> {
  const { db } = ca.database;
  const isFirst = wanted.isNew && declared.adopt === undefined;
  const seen = isFirst
    ? undefined
    : ((await findDeclaredBinding(db, declared)) ?? (await namedRow(ca, KIND, declared, findBindingToAdopt)));
  if (seen !== undefined) return settle(ca, declared, wanted, seen);
  const made = await make(ca, declared, wanted);
  if (made !== undefined) return applied(ca, 'created', wanted, made);
  const other = await findDeclaredBinding(db, declared);
  if (other === undefined) throw await notMade(ca, wanted);
  return settle(ca, declared, wanted, other);
}

/** Whether there is a token under the name of the object, also one that an earlier object has left behind. */
export const hasExternalBinding = async (ca: Ca, owner: Owner): Promise<boolean> =>
  (await findDeclaredBinding(ca.database.db, owner)) !== undefined;

async function settle(
  ca: Ca,
  declared: Declared,
  wanted: DeclaredBinding,
  seen: DeclaredBindingRow,
): Promise<AppliedBinding> {
  const isOurs = isOwn(KIND, declared, seen);
  requireSame(seen, wanted, isOurs);
  const row = isOurs ? seen : await takenOver(ca, KIND, declared, seen, adoption);
  if (isOutdated(row, wanted)) return applied(ca, 'replaced', wanted, await replace(ca, declared, wanted, row));
  const changes = row.acme_key_id === null ? differencesOf(row, wanted) : {};
  const hasChanges = Object.keys(changes).length > 0;
  const isLater = (row.origin_generation ?? 0) < declared.generation;
  const as = hasChanges ? 'updated' : 'unchanged';
  if (!hasChanges && !isLater) return applied(ca, isOurs ? as : 'adopted', wanted, row);
  const generation = { origin_generation: declared.generation };
  const all = { ...changes, ...generation };
  const written = await writeExternalBinding(ca, customResource(declared), row, all, declared);
  return applied(ca, isOurs ? as : 'adopted', wanted, { ...row, ...written, ...generation });
}

/** Annotated anew, or of a directory that is no more: another token takes its place. */
const isOutdated = (row: DeclaredBindingRow, { renew, directory_id }: DeclaredBinding): boolean =>
  (renew !== undefined && renew !== row.renewed) || row.directory_id !== directory_id;

const differencesOf = (row: DeclaredBindingRow, { name, order_validations }: DeclaredBinding) =>
  differing(row, { name, order_validations });

/** Throws `immutable`, or `already_exists` for a token that would be taken over. */
function requireSame(row: DeclaredBindingRow, wanted: DeclaredBinding, isOurs: boolean): void {
  const isMoved = row.directory_id !== wanted.directory_id && !(isOurs && row.is_directory_deleted);
  const isRenamed = wanted.isKeyIdGiven && row.key_id !== wanted.key_id;
  const fields = [...(isMoved ? ['directoryRef'] : []), ...(isRenamed ? ['keyId'] : [])];
  if (fields.length === 0) return;
  if (!isOurs) throw alreadyExists(KIND, row, fields);
  throw new CaError(
    'immutable',
    `The token of this object is in ${formatId('dir', row.directory_id)} under the key id ${kidOf(row)}, and ${fields.join(' and ')} cannot change. Delete the object and declare it again.`,
  );
}

const kidOf = ({ key_id, id }: DeclaredBindingRow): string => key_id ?? formatId('eab', id);

async function make(ca: Ca, declared: Declared, wanted: DeclaredBinding): Promise<DeclaredBindingRow | undefined> {
  const binding = await columnsOf(ca, declared, wanted, wanted.key_id);
  const after = auditedExternalBinding(binding);
  const change = { action: 'create', kind: KIND, id: binding.id, after } as const;
  const record = recordOf(customResource(declared), binding.created_at, change);
  return insertDeclaredBinding(ca.database.db, { binding, record });
}

async function replace(
  ca: Ca,
  declared: Declared,
  wanted: DeclaredBinding,
  seen: DeclaredBindingRow,
): Promise<DeclaredBindingRow> {
  const binding = await columnsOf(ca, declared, wanted, seen.key_id);
  return ca.database.inTransaction(async (tx) => {
    const row = await replaceDeclaredBinding(tx, seen, binding);
    if (row === undefined) throw changedMeanwhile(KIND);
    await recordChanges(tx, customResource(declared), binding.created_at, [
      { action: 'delete', kind: KIND, id: seen.id, before: auditedExternalBinding(seen) },
      { action: 'create', kind: KIND, id: row.id, after: auditedExternalBinding(row) },
    ]);
    return row;
  });
}

async function columnsOf(
  ca: Ca,
  declared: Declared,
  { directory_id, name, order_validations, renew }: DeclaredBinding,
  key_id: string | null,
): Promise<NewDeclaredBinding> {
  const columns = await newBinding(ca, ca.clock.now(), { directory_id, name, key_id, order_validations });
  return { ...columns, renewed: renew ?? null, owner: declared, fence: declared };
}

/** Why no token came of it. */
async function notMade(ca: Ca, { key_id: keyId, directory_id: directoryId }: DeclaredBinding): Promise<CaError> {
  const holder = await findKeyIdHolder(ca.database.db, keyId);
  if (holder === undefined) return unknownReference('directory', directoryId);
  const owner = ownerOf(holder);
  if (owner === undefined && holder.directory_id === directoryId)
    return nobodys(`The key id ${keyId} is that of an EAB token`, 'choose another one in spec.keyId');
  const who = owner === undefined ? 'another EAB token' : `ExternalBinding ${owner.namespace}/${owner.name}`;
  const detail = `The key id ${keyId} is that of ${who}; choose another one in spec.keyId, or delete that one.`;
  return new CaError('key_id_taken', detail, { field: 'key_id' });
}

const applied = async (
  ca: Ca,
  as: AppliedBinding['as'],
  wanted: DeclaredBinding,
  row: DeclaredBindingRow,
): Promise<AppliedBinding> => ({
  as,
  view: await declaredBindingView(ca, row),
  kept: row.acme_key_id === null ? [] : keptFields(differencesOf(row, wanted)),
});

const keptFields = (differences: { readonly name?: unknown; readonly order_validations?: unknown }) =>
  (['name', 'order_validations'] as const).filter((field) => differences[field] !== undefined);
