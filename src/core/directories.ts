// Directories as callers see them: one, a list, and what each of them shows.
import type { Db, Tx } from '../store/database.ts';
import { type DirectoryFilter, type DirectoryRow, findDirectory, listDirectoryRows } from '../store/directories.ts';
import type { Ca } from './ca.ts';
import { chainOf } from './chains.ts';
import { requireChangeableBy } from './declared.ts';
import type { CaError } from './errors.ts';
import { formatId } from './ids.ts';
import { changedMeanwhile, found } from './object-kinds.ts';
import type { Author } from './origin.ts';
import { type NameOrId, type Page, type PageRequest, pageOf } from './paging.ts';
import { directoryUrl } from './urls.ts';

/** What a caller may write: fields of /v1 and columns of the row have the same names and values. */
export type DirectoryFields = Pick<
  DirectoryRow,
  | 'name'
  | 'slug'
  | 'signing_cert_id'
  | 'allowed_dns_identifiers'
  | 'allowed_ip_identifiers'
  | 'caa_tag'
  | 'cert_min_days'
  | 'cert_max_days'
  | 'on_missing_caa'
  | 'registration_mode'
  | 'remote_ip_whitelist'
  | 'profiles'
  | 'allowed_key_types'
  | 'terms_of_service'
  | 'website'
  | 'rollover_days'
>;

export type DirectoryView = {
  readonly id: string;
  readonly directoryUrl: string;
  readonly fields: DirectoryFields;
};

/** As it is shown alone. */
export type SingleDirectoryView = DirectoryView & {
  /** PEM, the issuer of leaves first. */
  readonly certChain: readonly string[];
  /** PEM; undefined where the chain leaves this service. */
  readonly rootCert: string | undefined;
};

/** A directory by its uuid. Throws `not_found`. */
export async function getDirectory(ca: Ca, id: string): Promise<SingleDirectoryView> {
  const { db } = ca.database;
  return singleDirectoryView(ca, db, await requireDirectory(db, id));
}

/** One page of directories by id or name. Throws `unknown_cursor`. */
export async function listDirectories(
  ca: Ca,
  filter: DirectoryFilter,
  page: PageRequest<NameOrId>,
): Promise<Page<DirectoryView>> {
  return pageOf(await listDirectoryRows(ca.database.db, filter, page), (row) => directoryView(ca, row));
}

/** The ACME URLs of so many, the newest first. */
export async function newestDirectoryUrls(ca: Ca, limit: number): Promise<readonly string[]> {
  const newest = await listDirectories(ca, {}, { limit, sort: 'id', direction: 'desc' });
  return newest.items.map((directory) => directory.directoryUrl);
}

/** Throws `not_found`, also for a deleted one. */
export async function requireDirectory(db: Db, id: string): Promise<DirectoryRow> {
  return found('directory', id, await findDirectory(db, id));
}

/** Why a guarded write found no row to change: it is gone, or not to be changed here, or no longer as it was seen. */
export async function changeRefused(tx: Tx, id: string, author: Author): Promise<CaError> {
  requireChangeableBy('directory', await requireDirectory(tx, id), author);
  return changedMeanwhile('directory');
}

/** With the chain of its CA cert. */
export async function singleDirectoryView(ca: Ca, db: Db, row: DirectoryRow): Promise<SingleDirectoryView> {
  const { intermediatePems, rootPem } = await chainOf(db, row.signing_cert_id);
  return { ...directoryView(ca, row), certChain: intermediatePems, rootCert: rootPem };
}

/** For the records of changes: fields as /v1 shows them. */
export const auditedDirectory = (row: DirectoryRow) => ({
  ...fieldsOf(row),
  signing_cert_id: formatId('scrt', row.signing_cert_id),
});

/** For events. */
export const directoryFacts = ({ id, slug }: DirectoryRow) => ({ id: formatId('dir', id), slug });

/** As it stands in a list. */
export const directoryView = (ca: Ca, row: DirectoryRow): DirectoryView => ({
  id: row.id,
  directoryUrl: directoryUrl(ca.urls, row.slug),
  fields: fieldsOf(row),
});

const fieldsOf = (row: DirectoryRow): DirectoryFields => ({
  name: row.name,
  slug: row.slug,
  signing_cert_id: row.signing_cert_id,
  allowed_dns_identifiers: row.allowed_dns_identifiers,
  allowed_ip_identifiers: row.allowed_ip_identifiers,
  caa_tag: row.caa_tag,
  cert_min_days: row.cert_min_days,
  cert_max_days: row.cert_max_days,
  on_missing_caa: row.on_missing_caa,
  registration_mode: row.registration_mode,
  remote_ip_whitelist: row.remote_ip_whitelist,
  profiles: row.profiles,
  allowed_key_types: row.allowed_key_types,
  terms_of_service: row.terms_of_service,
  website: row.website,
  rollover_days: row.rollover_days,
});
