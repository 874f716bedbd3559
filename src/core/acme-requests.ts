// What a request of an ACME client stands on: its directory and its account, as they are when it comes.
import type { AcmeAccountRow } from '../store/acme-requests.ts';
import type { DirectoryRow } from '../store/directories.ts';

export type AcmeDirectory = DirectoryRow & {
  /** The one in the path of the request: every URL of the reply is under it (DIR-5). `slug` is the current one. */
  readonly requestSlug: string;
  /** The current slug and all old ones. */
  readonly slugs: readonly string[];
};

export type AcmeAccount = AcmeAccountRow;
