// Deleting a directory: its ACME endpoint is gone at once; accounts, orders and issued certs stay readable.
import { deleteDirectory as deleteRow } from '../store/directories.ts';
import { deleteUnusedExternalBindings, type ExternalBindingRow } from '../store/external-bindings.ts';
import { notifyOwners } from '../store/origin.ts';
import { type Change, recordChanges } from './audit-events.ts';
import type { Ca } from './ca.ts';
import { auditedDirectory, changeRefused, directoryFacts } from './directories.ts';
import { auditedExternalBinding } from './external-bindings.ts';
import { type Author, fenceOf, ownerOf } from './origin.ts';

/**
 * Deletes a directory together with its unused EAB tokens. Its slugs stay taken. Throws `not_found` and
 * `managed_by_kubernetes`, for a custom resource `conflict`.
 */
export async function deleteDirectory(ca: Ca, author: Author, id: string): Promise<void> {
  const now = ca.clock.now();
  const facts = await ca.database.inTransaction(async (tx) => {
    const row = await deleteRow(tx, id, now, fenceOf(author));
    if (row === undefined) throw await changeRefused(tx, id, author);
    const tokens = await deleteUnusedExternalBindings(tx, id, now);
    await recordChanges(tx, author, now, [
      { action: 'delete', kind: 'directory', id, before: auditedDirectory(row) },
      ...tokens.map(deletion),
    ]);
    await notifyOwners(
      tx,
      'external_binding',
      tokens.map(ownerOf).filter((owner) => owner !== undefined),
    );
    return { ...directoryFacts(row), deletedTokens: tokens.length };
  });
  ca.events.directoryDeleted(facts);
}

const deletion = (token: ExternalBindingRow): Change => ({
  action: 'delete',
  kind: 'external_binding',
  id: token.id,
  before: auditedExternalBinding(token),
});
