// Slugs of directories: each belongs to one directory for ever, unless a later one takes it from a deleted one on purpose.
import type { Tx } from '../store/database.ts';
import { DatabaseError } from '../store/database-error.ts';
import { claimSlug, findSlugHolder, releaseSlug, type SlugHolder } from '../store/directory-slugs.ts';
import { nobodys } from './adoption.ts';
import type { Ca } from './ca.ts';
import { CaError } from './errors.ts';
import type { Author } from './origin.ts';

export type SlugWish = {
  readonly slug: string;
  readonly directoryId: string;
  /** Takes the slug of a deleted directory. */
  readonly reuse: boolean;
};

const CONSTRAINT = 'directory_slugs_slug_key';

/** Gives the slug to the directory; of several at once the database lets one have it. Locks a deleted holder. */
export async function takeSlug(tx: Tx, { slug, directoryId, reuse }: SlugWish, now: Date): Promise<void> {
  if (reuse) await releaseSlug(tx, slug, now);
  await claimSlug(tx, slug, directoryId, now);
}

/**
 * What `write` gives. Throws `slug_taken` saying by whom, where the slug that it takes is another directory's, and
 * `already_exists` where a custom resource may take over that directory.
 */
export async function withSlug<Result>(
  ca: Ca,
  author: Author,
  slug: string,
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.constraint !== CONSTRAINT) throw error;
    const holder = await findSlugHolder(ca.database.db, slug);
    const isDeclared = author.declared !== undefined;
    if (isDeclared && holder?.is_free === true && holder.is_current && !holder.is_deleted)
      throw nobodys(`The slug ${slug} is that of a directory`, 'choose another one');
    throw new CaError('slug_taken', sentence(slug, holder, isDeclared), { field: 'slug', cause: error });
  }
}

function sentence(slug: string, holder: SlugHolder | undefined, isDeclared: boolean): string {
  if (holder?.is_deleted === true)
    return `Slug ${slug} was that of a deleted directory; choose another one, or ${isDeclared ? 'set annotation acmery.io/reuse-slug: "true"' : 'send reuse_slug: true'} to take it over.`;
  return holder?.is_current === false
    ? `Slug ${slug} is an old one of another directory, which still answers to it; choose another one.`
    : `Slug ${slug} is that of another directory; choose another one.`;
}
