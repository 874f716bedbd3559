// Directories that custom resources declare: made, revived, taken over, changed and left behind.
import type { DirectoryCreate } from '../resources/fields.ts';
import { type DirectoryRow, findDeclaredDirectory, findDirectoryTombstone } from '../store/directories.ts';
import { type Applied, declaredAs, standingOf, untilAlone } from './adoption.ts';
import type { Ca } from './ca.ts';
import { changeDirectory, reviveTombstone } from './change-directory.ts';
import { type CanonicalDirectory, canonicalNew, insertCanonical } from './create-directory.ts';
import { type AppliedAs, authorOf, type Declared, isOwn } from './declared.ts';
import { deleteDirectory } from './delete-directory.ts';
import { differing } from './differing.ts';
import { type DirectoryView, directoryView } from './directories.ts';
import type { FieldProblem } from './errors.ts';
import { type Author, type DeletionPolicy, originColumns, orphanColumns } from './origin.ts';

/** Somebody else has inserted the row of the same object. */
const twinConstraints = ['directories_origin_key'];

/**
 * Makes or changes the directory of a custom resource as it is declared: what is missing in `input` has its default.
 * `signing_cert_id` is a uuid; another one than before is a rollover. A deleted directory of the same object name comes
 * back by its slug, with its accounts. One read where nothing changes. Throws what createDirectory throws, `immutable`,
 * `already_exists`, and `conflict` for a state of the object that is not the last one.
 */
export async function applyDirectory(
  ca: Ca,
  declared: Declared,
  input: DirectoryCreate,
): Promise<Applied<DirectoryView>> {
  const wanted = canonicalNew(ca.urls, { terms_of_service: null, website: null, ...input });
  const author = authorOf(declared);
  const { as, row } = await untilAlone(twinConstraints, async () => {
    const seen = await findDeclaredDirectory(ca.database.db, declaredAs('directory', declared));
    return seen === undefined ? make(ca, author, declared, wanted) : keep(ca, author, declared, wanted, seen);
  });
  return { as, view: directoryView(ca, row) };
}

/**
 * Retain: the directory serves on, and an object of the same name and slug takes it back. Delete: as /v1 deletes. Nothing
 * is done where the row is gone or another object's. Throws `conflict` for a state of the object that is not the last one.
 */
export async function forgetDirectory(ca: Ca, declared: Declared, policy: DeletionPolicy): Promise<void> {
  const { namespace, name } = declared;
  const row = await findDeclaredDirectory(ca.database.db, { namespace, name });
  if (row === undefined || !isOwn('directory', declared, row)) return;
  const author = authorOf(declared);
  if (policy === 'Delete') await deleteDirectory(ca, author, row.id);
  else await changeDirectory(ca, author, row, orphanColumns(declared, ca.clock.now()));
}

/** Whether it has a directory, or one to take over. */
export const hasDirectory = async (ca: Ca, declared: Declared): Promise<boolean> =>
  (await findDeclaredDirectory(ca.database.db, declaredAs('directory', declared))) !== undefined;

type Result = { readonly as: AppliedAs; readonly row: DirectoryRow };

async function make(
  ca: Ca,
  author: Author,
  { namespace, name }: Declared,
  wanted: CanonicalDirectory,
): Promise<Result> {
  const { reuse_slug: _, ...fields } = wanted;
  const tombstone = await findDirectoryTombstone(ca.database.db, { namespace, name, slug: wanted.slug });
  if (tombstone === undefined) return { as: 'created', row: await insertCanonical(ca, author, wanted) };
  return { as: 'adopted', row: await reviveTombstone(ca, author, tombstone, { ...fields, ...originColumns(author) }) };
}

/** The slug of what is there never changes: aliases are for directories of /v1. */
async function keep(
  ca: Ca,
  author: Author,
  declared: Declared,
  { reuse_slug: _, slug, ...fields }: CanonicalDirectory,
  seen: DirectoryRow,
): Promise<Result> {
  const standing = standingOf('directory', seen, declared, slug === seen.slug ? [] : [otherSlug]);
  const changes = differing(seen, fields);
  const isFenced = standing === 'own' && seen.origin_generation === declared.generation;
  const isSame = Object.keys(changes).length === 0;
  const isWritten = !isSame || !isFenced;
  const row = isWritten
    ? await changeDirectory(ca, author, seen, { ...changes, ...(!isFenced && originColumns(author)) })
    : seen;
  if (standing === 'adopted') return { as: 'adopted', row };
  return { as: isSame ? 'unchanged' : 'updated', row };
}

const otherSlug: FieldProblem = {
  field: 'slug',
  code: 'immutable',
  message: 'this field never changes once the directory exists',
};
