// Statements on directory_slugs: every slug that a directory has or had.
import { sql } from 'kysely';
import type { Db, Tx } from './database.ts';

export type SlugHolder = {
  readonly directory_id: string;
  /** The directory's current slug; else it is an old one, which still leads there. */
  readonly is_current: boolean;
  readonly is_deleted: boolean;
  /** It belongs to no custom resource. */
  readonly is_free: boolean;
};

/** Gives a slug to a directory for ever; an old one of its own comes back. Fails by directory_slugs_slug_key where it is taken. */
export const claimSlug = (tx: Tx, slug: string, directoryId: string, now: Date) =>
  sql`
    insert into directory_slugs (slug, directory_id, created_at) values (${slug}, ${directoryId}, ${now})
    on conflict (slug, directory_id) do update set released_at = null
      where directory_slugs.released_at is not null`.execute(tx);

/**
 * Takes a slug away from a deleted directory; false where no deleted one has it. The lock keeps that directory from being
 * revived in the meantime.
 */
export async function releaseSlug(tx: Tx, slug: string, now: Date): Promise<boolean> {
  const { rows } = await sql`
    with held as (
      select s.directory_id from directory_slugs s join directories d on d.id = s.directory_id
       where s.slug = ${slug} and s.released_at is null and d.deleted_at is not null
         for share of d)
    update directory_slugs s set released_at = ${now} from held
     where s.slug = ${slug} and s.directory_id = held.directory_id and s.released_at is null
    returning s.slug`.execute(tx);
  return rows.length > 0;
}

/** Undefined when the slug is free. */
export async function findSlugHolder(db: Db, slug: string): Promise<SlugHolder | undefined> {
  const { rows } = await sql<SlugHolder>`
    select s.directory_id, d.slug = s.slug as is_current, d.deleted_at is not null as is_deleted,
           d.origin <> 'kubernetes' or d.orphaned_at is not null as is_free
      from directory_slugs s join directories d on d.id = s.directory_id
     where s.slug = ${slug} and s.released_at is null`.execute(db);
  return rows[0];
}

/** The current slug and all old ones. */
export async function listSlugsOfDirectory(db: Db, directoryId: string): Promise<readonly string[]> {
  const { rows } = await sql<{ slug: string }>`
    select slug from directory_slugs
     where directory_id = ${directoryId} and (released_at is null) is true`.execute(db);
  return rows.map(({ slug }) => slug).sort();
}

/** Also by a directory that is deleted: what is released is taken by another one at once. */
export async function wasSlugEverTaken(db: Db, slug: string): Promise<boolean> {
  const { rows } = await sql<{ taken: boolean }>`
    select exists (select from directory_slugs where slug = ${slug} and released_at is null) as taken`.execute(db);
  return rows[0]?.taken ?? false;
}
