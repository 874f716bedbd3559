// Deleting an EAB token that nobody has used.
import { deleteExternalBinding as deleteRow } from '../store/external-bindings.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { auditedExternalBinding, changeRefused } from './external-bindings.ts';

/** Its key id is free again. Throws `not_found`, `managed_by_kubernetes` and `token_used`. */
export async function deleteExternalBinding(ca: Ca, actor: Actor, id: string): Promise<void> {
  const now = ca.clock.now();
  await ca.database.inTransaction(async (tx) => {
    const row = await deleteRow(tx, id, now);
    if (row === undefined) throw await changeRefused(tx, id);
    const before = auditedExternalBinding(row);
    await recordChange(tx, actor, now, { action: 'delete', kind: 'external_binding', id, before });
  });
}
