// Writing what changes of a directory, whoever asks for it, with all that follows from it.
import {
  type DirectoryChanges,
  type DirectoryRow,
  reviveDirectory,
  updateDirectory as updateRow,
} from '../store/directories.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import { differing } from './differing.ts';
import { auditedDirectory, changeRefused, directoryFacts } from './directories.ts';
import { requireIssuer } from './directory-issuer.ts';
import { takeSlug, withSlug } from './directory-slugs.ts';
import { type Author, ownedFacts } from './origin.ts';

type Options = {
  /** Takes the slug of a deleted directory. */
  readonly reuse?: boolean;
};

/**
 * Another CA cert is a rollover, and is held against deletion; another slug leaves the old one as an alias. Throws
 * `unknown_reference`, `cannot_sign`, `slug_taken`, and `conflict` when somebody else was faster.
 */
export const changeDirectory = (
  ca: Ca,
  author: Author,
  seen: DirectoryRow,
  changes: DirectoryChanges,
  { reuse = false }: Options = {},
): Promise<DirectoryRow> => write(ca, author, seen, changes, { reuse, action: 'update', writeRow: updateRow });

/** A deleted directory comes back with its accounts, as long as its slug is still its own. Throws the same. */
export const reviveTombstone = (
  ca: Ca,
  author: Author,
  seen: DirectoryRow,
  changes: DirectoryChanges & { readonly slug: string },
): Promise<DirectoryRow> =>
  write(ca, author, seen, changes, { reuse: false, action: 'revive', writeRow: reviveDirectory });

type Writing = { readonly reuse: boolean; readonly action: string; readonly writeRow: typeof updateRow };

async function write(
  ca: Ca,
  author: Author,
  seen: DirectoryRow,
  changes: DirectoryChanges,
  { reuse, action, writeRow }: Writing,
): Promise<DirectoryRow> {
  const now = ca.clock.now();
  const { id } = seen;
  const { slug, signing_cert_id: signingCertId } = changes;
  const { row, fields, isNews } = await withSlug(ca, author, slug ?? seen.slug, () =>
    ca.database.inTransaction(async (tx) => {
      if (signingCertId !== undefined) await requireIssuer(tx, signingCertId, now);
      const written = await writeRow(tx, seen, { ...changes, ...rollover(seen, signingCertId, now) });
      if (written === undefined) throw await changeRefused(tx, id, author);
      if (slug !== undefined) await takeSlug(tx, { slug, directoryId: id, reuse }, now);
      const [before, after] = [factsOf(seen), factsOf(written)];
      const changed = Object.keys(differing(before, after));
      const isNews = action !== 'update' || changed.length > 0;
      if (isNews) await recordChange(tx, author, now, { action, kind: 'directory', id, before, after });
      return { row: written, fields: changed, isNews };
    }),
  );
  if (isNews) ca.events.directoryUpdated({ ...directoryFacts(row), fields });
  return row;
}

/** Renewals are spread, and the roots of what was issued stay trusted. */
function rollover(seen: DirectoryRow, signingCertId: string | undefined, now: Date): DirectoryChanges {
  if (signingCertId === undefined || signingCertId === seen.signing_cert_id) return {};
  const former = new Set([...seen.former_signing_certs, seen.signing_cert_id]);
  former.delete(signingCertId);
  return { rollover_at: now, former_signing_certs: [...former] };
}

const factsOf = (row: DirectoryRow) => ({ ...auditedDirectory(row), ...ownedFacts(row) });
