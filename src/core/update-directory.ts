// Changing a directory. A change binds the next request on every replica, because each request reads the row.
import type { DirectoryUpdate } from '../resources/fields.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { changeDirectory } from './change-directory.ts';
import { differing } from './differing.ts';
import { requireDirectory, type SingleDirectoryView, singleDirectoryView } from './directories.ts';
import { canonicalDirectory } from './directory-policy.ts';
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
  const isSame = Object.keys(changes).length === 0;
  const row = isSame ? seen : await changeDirectory(ca, actor, seen, changes, { reuse });
  return singleDirectoryView(ca, db, row);
}
