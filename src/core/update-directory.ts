// Changing a directory. A change binds the next request on every replica, because each request reads the row.
import type { DirectoryUpdate } from '../resources/fields.ts';
import { type DirectoryChanges, type DirectoryRow, updateDirectory as updateRow } from '../store/directories.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { differing } from './differing.ts';
import {
  auditedDirectory,
  changeRefused,
  directoryFacts,
  requireDirectory,
  type SingleDirectoryView,
  singleDirectoryView,
} from './directories.ts';
import { requireIssuer } from './directory-issuer.ts';
import { canonicalDirectory } from './directory-policy.ts';
import { takeSlug, withSlug } from './directory-slugs.ts';
import { invalid } from './field-problems.ts';
import { requireChangeable } from './origin.ts';

/**
 * Changes what `input` names; `signing_cert_id` is a uuid, and a new one is a rollover. The old slug stays an alias.
 * Open orders are checked against the directory as it is when they are finalized. Holds a new CA cert against deletion.
 * Throws `not_found`, `managed_by_kubernetes`, `invalid` with all fields at fault, `unknown_reference` and `cannot_sign`
 * for the CA cert, `slug_taken`, and `conflict` when somebody else changed the directory meanwhile.
 */
export async function updateDirectory(
  ca: Ca,
  actor: Actor,
  id: string,
  input: DirectoryUpdate,
): Promise<SingleDirectoryView> {
  const { db } = ca.database;
  const seen = await requireDirectory(db, id);
  requireChangeable('directory', seen);
  const result = canonicalDirectory(input, { certMinDays: seen.cert_min_days, certMaxDays: seen.cert_max_days });
  if (!result.ok) throw invalid(result.problems);
  const { reuse_slug: reuse = false, ...fields } = result.value;
  const changes = differing(seen, fields);
  const names = Object.keys(changes);
  if (names.length === 0) return singleDirectoryView(ca, db, seen);
  const row = await write(ca, actor, seen, changes, reuse);
  ca.events.directoryUpdated({ ...directoryFacts(row), fields: names });
  return singleDirectoryView(ca, db, row);
}

function write(ca: Ca, actor: Actor, seen: DirectoryRow, changes: DirectoryChanges, reuse: boolean) {
  const now = ca.clock.now();
  const { id } = seen;
  const { slug, signing_cert_id: signingCertId } = changes;
  return withSlug(ca, slug ?? seen.slug, () =>
    ca.database.inTransaction(async (tx) => {
      if (signingCertId !== undefined) await requireIssuer(tx, signingCertId, now);
      const rollover = signingCertId === undefined ? {} : { rollover_at: now };
      const row = await updateRow(tx, seen, { ...changes, ...rollover });
      if (row === undefined) throw await changeRefused(tx, id);
      if (slug !== undefined) await takeSlug(tx, { slug, directoryId: id, reuse }, now);
      const fields = { before: auditedDirectory(seen), after: auditedDirectory(row) };
      await recordChange(tx, actor, now, { action: 'update', kind: 'directory', id, ...fields });
      return row;
    }),
  );
}
