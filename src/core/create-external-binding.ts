// Making an EAB token.
import type { CreateInput } from '../resources/field.ts';
import type { externalBindingFields } from '../resources/fields.ts';
import { insertExternalBinding } from '../store/external-bindings.ts';
import { recordOf } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Caller } from './caller.ts';
import { auditedExternalBinding, type ExternalBindingView, externalBindingView } from './external-bindings.ts';
import { newUuid } from './ids.ts';
import { newMacKey } from './mac-key.ts';
import { unknownReference } from './object-kinds.ts';
import { canonicalOrderValidations } from './order-validations.ts';
import { sealSecret } from './secret-box.ts';

/**
 * Makes a token with a new MAC key; `directory_id` is a uuid. Holds the directory against deletion. Throws
 * `unknown_reference`, `key_id_taken` and `unavailable`.
 */
export async function createExternalBinding(
  ca: Ca,
  caller: Caller,
  input: CreateInput<typeof externalBindingFields>,
): Promise<ExternalBindingView> {
  const now = ca.clock.now();
  const binding = await newBinding(ca, now, {
    directory_id: input.directory_id,
    name: input.name ?? '',
    key_id: input.key_id ?? null,
    order_validations: canonicalOrderValidations(input.order_validations),
  });
  const { id } = binding;
  const after = auditedExternalBinding(binding);
  const record = recordOf(caller, now, { action: 'create', kind: 'external_binding', id, after });
  const row = await insertExternalBinding(ca.database.db, binding, record);
  if (row === undefined) throw unknownReference('directory', input.directory_id);
  return externalBindingView(ca, caller, row);
}

/** The columns of a token with an id and a MAC key that nobody has seen yet. Throws `unavailable`. */
export async function newBinding<Fields extends object>(ca: Ca, now: Date, fields: Fields) {
  const id = newUuid(now);
  return { id, created_at: now, ...fields, mac_sealed: await sealSecret(ca, id, newMacKey()) };
}
