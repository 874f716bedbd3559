// Compiled rules of directories, kept by (id, version): what is derived from a row, never the row itself.
import { type LeafKeyType, leafKeyTypes, type ProfileName, profileNames } from '../resources/fields.ts';
import type { DirectoryRow } from '../store/directories.ts';
import { directoryPolicy } from './directory-policy.ts';
import type { DirectoryPolicy } from './issuance-policy.ts';
import { Recent } from './recent.ts';

type Versioned = { readonly id: string; readonly version: number };

/** One version of an id at a time, of at most so many ids. */
export function versionCache<Row extends Versioned, Value>(most: number, derive: (row: Row) => Value) {
  const kept = new Recent<{ readonly version: number; readonly value: Value }>(most);
  return (row: Row): Value => {
    const found = kept.get(row.id);
    if (found?.version === row.version) return found.value;
    const value = derive(row);
    kept.set(row.id, { version: row.version, value });
    return value;
  };
}

const DIRECTORIES = 1_000;

/** The rules of a directory for the checks of issuance-policy.ts. */
export const compiledPolicy: (row: DirectoryRow) => DirectoryPolicy = versionCache(DIRECTORIES, (row: DirectoryRow) =>
  directoryPolicy({
    name: row.slug,
    deleted: row.deleted_at !== null,
    allowedDns: row.allowed_dns_identifiers,
    allowedIp: row.allowed_ip_identifiers,
    remoteIps: row.remote_ip_whitelist,
    certMinDays: row.cert_min_days,
    certMaxDays: row.cert_max_days,
    profiles: row.profiles.filter(isProfileName),
    allowedKeyTypes: row.allowed_key_types.filter(isLeafKeyType),
  }),
);

const isProfileName = (name: string): name is ProfileName => profileNames.some((known) => known === name);
const isLeafKeyType = (name: string): name is LeafKeyType => leafKeyTypes.some((known) => known === name);
