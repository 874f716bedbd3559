// What a request of an ACME client stands on: its directory and its account, as they are when it comes.
import { quoted } from '../schema/field-problem.ts';
import { slug as slugSchema } from '../schema/fragments.ts';
import { check } from '../schema/validator.ts';
import {
  type AcmeAccountRow,
  beginSigned,
  findAccountRow,
  findDirectoryWithSlugs,
  hasPreregisteredAccount,
  type SeenContext,
  seeContext,
  stampAccount,
} from '../store/acme-requests.ts';
import type { Database } from '../store/database.ts';
import type { DirectoryRow } from '../store/directories.ts';
import { wasSlugEverTaken } from '../store/directory-slugs.ts';
import type { NonceClaim } from '../store/nonces.ts';
import { AcmeError } from './acme-error.ts';
import { parseClientAddress, rangeOf } from './addresses.ts';
import type { Ca } from './ca.ts';
import { keptByVersion } from './kept-rows.ts';
import type { Nonces } from './nonces.ts';
import { compiledPolicy } from './policy-cache.ts';
import { Recent } from './recent.ts';
import type { AccountUrl } from './urls.ts';

export type AcmeDirectory = DirectoryRow & {
  /** The one in the path of the request: every URL of the reply is under it (DIR-5). `slug` is the current one. */
  readonly requestSlug: string;
  /** The current slug and all old ones. */
  readonly slugs: readonly string[];
  /** Of the CA cert that it issues from. */
  readonly issuerVersion: number;
};

export type AcmeAccount = AcmeAccountRow;

export type AcmeContext = {
  readonly directory: AcmeDirectory;
  /** In whatever state, and of whatever directory. */
  readonly account: AcmeAccount | undefined;
};

type Asked = { readonly slug: string; readonly accountId?: string; readonly clientAddress: string };

export const isSlug = (text: string): boolean => check(slugSchema, text).length === 0;

/**
 * The directory that a slug leads to, and the account of the id where one is given; in one statement with those of
 * other requests. Throws `malformed` (404) where there is no such directory, `unauthorized` for a client whose address
 * the directory does not admit (DIR-6).
 */
export async function findAcmeContext(ca: Ca, { slug, accountId, clientAddress }: Asked): Promise<AcmeContext> {
  const { db } = ca.database;
  const seen = isSlug(slug) ? await seeContext(db, { slug, accountId: accountId ?? null }) : undefined;
  return admitted(ca, seen, slug, clientAddress);
}

/**
 * The directory as it is, or was within the last second, which is there at once: for what anybody may ask for as often as
 * he likes.
 */
export function recentDirectory(ca: Ca, asked: Asked): AcmeDirectory | Promise<AcmeDirectory> {
  const copies = recentDirectories.get(ca.database) ?? new Recent<Copy>(DIRECTORIES);
  recentDirectories.set(ca.database, copies);
  const now = ca.clock.now().getTime();
  const copy = copies.get(asked.slug);
  if (copy === undefined || now < copy.readAt || now >= copy.readAt + COPY_MS) return copied(ca, asked, copies, now);
  requireAdmittedClient(copy.directory, asked.clientAddress);
  return copy.directory;
}

async function copied(ca: Ca, asked: Asked, copies: Recent<Copy>, now: number): Promise<AcmeDirectory> {
  const { directory } = await findAcmeContext(ca, asked);
  copies.set(asked.slug, { directory, readAt: now });
  return directory;
}

type Copy = { readonly directory: AcmeDirectory; readonly readAt: number };

const COPY_MS = 1_000;
const recentDirectories = new WeakMap<Database, Recent<Copy>>();

/** What of a nonce is to be spent. Throws as findAcmeContext, and then `malformed` and `badNonce` for what is no nonce. */
export async function readNonce(ca: Ca, nonces: Nonces, nonce: string, asked: Asked): Promise<NonceClaim> {
  if (!isSlug(asked.slug)) throw await noDirectory(ca, asked.slug);
  return nonces.read(nonce).catch(async (error: unknown) => {
    await findAcmeContext(ca, asked);
    throw error;
  });
}

/**
 * As findAcmeContext for a signed request, whose nonce is spent by the same statement, whatever else is wrong (NON-6). Of
 * several failures the one of the directory is told.
 */
export async function beginSignedRequest(
  ca: Ca,
  nonces: Nonces,
  nonce: NonceClaim,
  asked: Asked,
): Promise<AcmeContext> {
  const { slug, accountId = null, clientAddress } = asked;
  const { claimed, seen } = await beginSigned(ca.database.db, { slug, accountId, nonce });
  const context = await admitted(ca, seen, slug, clientAddress);
  await nonces.requireClaimed(claimed);
  return context;
}

async function admitted(
  ca: Ca,
  seen: SeenContext | undefined,
  slug: string,
  clientAddress: string,
): Promise<AcmeContext> {
  const { db } = ca.database;
  const directory = seen && (await directoryAt(db, seen.directory_id, seen.directory_version));
  if (seen === undefined || directory === undefined) throw await noDirectory(ca, slug);
  requireAdmittedClient(directory, clientAddress);
  const { account_id: id, account_version: version, used_on, issuer_version: issuerVersion } = seen;
  const account = id && version ? await accountAt(db, id, version) : undefined;
  return { directory: { ...directory, requestSlug: slug, issuerVersion }, account: account && { ...account, used_on } };
}

const DIRECTORIES = 1_000;
const ACCOUNTS = 10_000;

const directoryAt = keptByVersion(DIRECTORIES, findDirectoryWithSlugs);
const accountAt = keptByVersion(ACCOUNTS, findAccountRow);

/** Where directories are declared in a cluster, one that was never there may be on its way, and 404 would be final (G-26). */
async function noDirectory(ca: Ca, slug: string): Promise<AcmeError> {
  const shown = quoted(slug, 63);
  if (ca.directoriesComeLater && isSlug(slug) && !(await wasSlugEverTaken(ca.database.db, slug)))
    return new AcmeError('serverInternal', `There is no directory ${shown} yet; it may be declared in a moment.`, {
      status: 503,
      headers: { 'Retry-After': '5' },
    });
  return new AcmeError('malformed', `There is no directory ${shown} here; check the directory URL.`, { status: 404 });
}

/**
 * The account that a kid names, as its requests may use it (JWS-10, JWS-11, DIR-5, ACC-11). Throws
 * `accountDoesNotExist`, and `unauthorized` for one of another directory (403) or one that has ended (401).
 */
export function requireAccount({ directory, account }: AcmeContext, kid: AccountUrl | undefined): AcmeAccount {
  const isUnderUs = kid !== undefined && directory.slugs.includes(kid.slug);
  if (kid !== undefined && account !== undefined && !isUnderUs && account.directory_id !== directory.id)
    throw new AcmeError('unauthorized', 'The account in "kid" belongs to another directory; register one here.');
  if (account === undefined || !isUnderUs || account.directory_id !== directory.id)
    throw new AcmeError(
      'accountDoesNotExist',
      `Directory ${directory.requestSlug} has no account at the URL in "kid"; register one with newAccount.`,
    );
  if (account.state !== 'valid')
    throw new AcmeError('unauthorized', `The account is ${account.state}; register a new one with a new key.`, {
      status: 401,
    });
  return account;
}

/** DIR-2: whether newAccount of a key that is not known needs an external account binding, as far as clients are told. */
export const tellsExternalAccountRequired = async (ca: Ca, { id, registration_mode }: DirectoryRow): Promise<boolean> =>
  registration_mode === 'preregister' && !(await hasPreregisteredAccount(ca.database.db, id));

/** At most one write a day and account, not waited for: a request must not fail because its stamp did. */
export function noteAccountUse(ca: Ca, { id, used_on }: AcmeAccount): void {
  const today = ca.clock.now().toISOString().slice(0, 10);
  if (used_on !== null && used_on >= today) return;
  stampAccount(ca.database.db, id, today).catch((error: unknown) => {
    ca.events.internalError({ where: 'account_stamp', error });
  });
}

function requireAdmittedClient(directory: DirectoryRow, clientAddress: string): void {
  const { remoteIps } = compiledPolicy(directory);
  if (remoteIps.length === 0) return;
  const address = parseClientAddress(clientAddress);
  if (address.ok && rangeOf(remoteIps, address.value) !== undefined) return;
  throw new AcmeError('unauthorized', `Directory ${directory.slug} does not admit clients at ${clientAddress}.`);
}
