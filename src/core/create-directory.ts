// Making a directory.
import type { DirectoryCreate } from '../resources/fields.ts';
import { type DirectoryRow, insertDirectory } from '../store/directories.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import { auditedDirectory, directoryFacts, type SingleDirectoryView, singleDirectoryView } from './directories.ts';
import { requireIssuer } from './directory-issuer.ts';
import { canonicalDirectory } from './directory-policy.ts';
import { takeSlug, withSlug } from './directory-slugs.ts';
import type { FieldProblem } from './errors.ts';
import { invalid } from './field-problems.ts';
import { newUuid } from './ids.ts';
import { type Author, originColumns } from './origin.ts';
import { defaultCaaTag, type Urls } from './urls.ts';

/**
 * Makes a directory; `signing_cert_id` is a uuid. Holds that CA cert against deletion. Throws `invalid` with all fields
 * at fault, `unknown_reference` and `cannot_sign` for the CA cert, and `slug_taken`.
 */
export async function createDirectory(ca: Ca, author: Author, input: DirectoryCreate): Promise<SingleDirectoryView> {
  return singleDirectoryView(ca, ca.database.db, await insertCanonical(ca, author, canonicalNew(ca.urls, input)));
}

/** The same with fields in canonical form. */
export async function insertCanonical(ca: Ca, author: Author, input: CanonicalDirectory): Promise<DirectoryRow> {
  const now = ca.clock.now();
  const { reuse_slug: reuse = false, ...fields } = input;
  const { slug } = fields;
  const id = newUuid(now);
  const row = await withSlug(ca, author, slug, () =>
    ca.database.inTransaction(async (tx) => {
      await requireIssuer(tx, fields.signing_cert_id, now);
      const inserted = await insertDirectory(tx, { ...fields, ...originColumns(author), id, created_at: now });
      await takeSlug(tx, { slug, directoryId: id, reuse }, now);
      await recordChange(tx, author, now, {
        action: 'create',
        kind: 'directory',
        id,
        after: auditedDirectory(inserted),
      });
      return inserted;
    }),
  );
  ca.events.directoryCreated(directoryFacts(row));
  return row;
}

export type CanonicalDirectory = DirectoryCreate & { readonly caa_tag: string };

/** With its defaults. Throws `invalid`. */
export function canonicalNew(urls: Urls, input: DirectoryCreate): CanonicalDirectory {
  const { caa_tag = defaultCaaTag(urls, input.slug), cert_min_days: certMinDays, cert_max_days: certMaxDays } = input;
  const result = canonicalDirectory({ ...input, caa_tag }, { certMinDays, certMaxDays });
  if (result.ok) return result.value;
  throw invalid(result.problems.map((problem) => (input.caa_tag === undefined ? aboutDefault(problem) : problem)));
}

/** What is wrong with a field that was not sent must say why it has to be. */
const aboutDefault = ({ field, code, message }: FieldProblem): FieldProblem =>
  field === 'caa_tag'
    ? {
        field,
        code: 'required',
        message: `must be given with this slug, because its default is no DNS name: ${message}`,
      }
    : { field, code, message };
