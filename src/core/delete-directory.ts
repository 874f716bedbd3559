// Deleting a directory: its ACME endpoint is gone at once; accounts, orders and issued certs stay readable.
import { deleteDirectory as deleteRow, deleteUnusedBindingsOf } from '../store/directories.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { auditedDirectory, changeRefused } from './directories.ts';
import { formatId } from './ids.ts';

/**
 * Deletes a directory together with its unused EAB tokens. Its slugs stay taken. Throws `not_found` and
 * `managed_by_kubernetes`.
 */
export async function deleteDirectory(ca: Ca, actor: Actor, id: string): Promise<void> {
  const now = ca.clock.now();
  await ca.database.inTransaction(async (tx) => {
    const row = await deleteRow(tx, id, now);
    if (row === undefined) throw await changeRefused(tx, id);
    await recordChange(tx, actor, now, { action: 'delete', kind: 'directory', id, before: auditedDirectory(row) });
    const directory = { directory_id: formatId('dir', id) };
    for (const { id: tokenId, ...token } of await deleteUnusedBindingsOf(tx, id, now)) {
      const before = { ...directory, ...token };
      await recordChange(tx, actor, now, { action: 'delete', kind: 'external_binding', id: tokenId, before });
    }
  });
}
