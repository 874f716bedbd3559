// Changing an EAB token while nobody has used it.
import type { UpdateInput } from '../resources/field.ts';
import type { externalBindingFields } from '../resources/fields.ts';
import {
  type ExternalBindingChanges,
  type ExternalBindingRow,
  updateExternalBinding as updateRow,
} from '../store/external-bindings.ts';
import type { Fence } from '../store/origin.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor, Caller } from './caller.ts';
import { differing } from './differing.ts';
import { otherDirectory } from './directory-reference.ts';
import { CaError, type FieldProblem } from './errors.ts';
import {
  auditedExternalBinding,
  changeRefused,
  type ExternalBindingView,
  externalBindingView,
  requireExternalBinding,
  requireUnused,
} from './external-bindings.ts';
import { detailOf } from './field-problems.ts';
import { changedMeanwhile } from './object-kinds.ts';
import { canonicalOrderValidations } from './order-validations.ts';

type Input = UpdateInput<typeof externalBindingFields>;

/**
 * Changes what `input` names; `directory_id` is a uuid. Throws `not_found`, `managed_by_kubernetes`, `token_used` for any
 * change of a used token, an empty one too, `immutable`, `unavailable`, and `conflict` when somebody else changed it
 * meanwhile.
 */
export async function updateExternalBinding(
  ca: Ca,
  caller: Caller,
  id: string,
  input: Input,
): Promise<ExternalBindingView> {
  const seen = await requireExternalBinding(ca.database.db, id);
  requireUnused(seen);
  const moved = [...otherDirectory(seen, input.directory_id), ...otherKeyId(seen, input.key_id)];
  if (moved.length > 0) throw new CaError('immutable', detailOf(moved), { problems: moved });
  const { name, order_validations: validations } = input;
  const changes = differing(seen, {
    name: name === null ? '' : name,
    order_validations: validations && canonicalOrderValidations(validations),
  });
  const row = Object.keys(changes).length === 0 ? seen : await writeExternalBinding(ca, caller, seen, changes);
  return externalBindingView(ca, caller, row);
}

/**
 * Writes changes of a row as it was seen, for /v1 or, with a fence, for the custom resource that it belongs to. Throws
 * `conflict`, and for /v1 what else speaks against it.
 */
export function writeExternalBinding(
  ca: Ca,
  actor: Actor,
  seen: ExternalBindingRow,
  changes: ExternalBindingChanges,
  fence?: Fence,
): Promise<ExternalBindingRow> {
  const { id } = seen;
  return ca.database.inTransaction(async (tx) => {
    const row = await updateRow(tx, seen, changes, fence);
    if (row === undefined)
      throw fence === undefined ? await changeRefused(tx, id) : changedMeanwhile('external_binding');
    const fields = { before: auditedExternalBinding(seen), after: auditedExternalBinding(row) };
    if (Object.keys(differing(fields.before, fields.after)).length > 0)
      await recordChange(tx, actor, ca.clock.now(), { action: 'update', kind: 'external_binding', id, ...fields });
    return row;
  });
}

function otherKeyId(row: ExternalBindingRow, given: string | null | undefined): readonly FieldProblem[] {
  if (given === undefined || given === row.key_id) return [];
  const message = 'The key id never changes, because clients hold it already. Make a new token instead.';
  return [{ field: 'key_id', code: 'immutable', message }];
}
