// What a request of an ACME client stands on: its directory and its account, as they are when it comes.

import { quoted } from '../schema/field-problem.ts';
import { type AcmeAccountRow, findContext, hasPreregisteredAccount, stampAccount } from '../store/acme-requests.ts';
import type { DirectoryRow } from '../store/directories.ts';
import { AcmeError } from './acme-error.ts';
import { parseClientAddress, rangeOf } from './addresses.ts';
import type { Ca } from './ca.ts';
import { compiledPolicy } from './policy-cache.ts';
import type { AccountUrl } from './urls.ts';

export type AcmeDirectory = DirectoryRow & {
  /** The one in the path of the request: every URL of the reply is under it (DIR-5). `slug` is the current one. */
  readonly requestSlug: string;
  /** The current slug and all old ones. */
  readonly slugs: readonly string[];
};

export type AcmeAccount = AcmeAccountRow;

export type AcmeContext = {
  readonly directory: AcmeDirectory;
  /** In whatever state, and of whatever directory. */
  readonly account: AcmeAccount | undefined;
};

const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export const isSlug = (text: string): boolean => SLUG.test(text);

/**
 * The directory that a slug leads to, and the account of the id where one is given; in one statement with those of
 * other requests. Throws `malformed` (404) where there is no such directory, `unauthorized` for a client whose address
 * the directory does not admit (DIR-6).
 */
export async function findAcmeContext(
  ca: Ca,
  {
    slug,
    accountId,
    clientAddress,
  }: { readonly slug: string; readonly accountId?: string; readonly clientAddress: string },
): Promise<AcmeContext> {
  const asked = { slug, accountId: accountId ?? null };
  const found = isSlug(slug) ? await findContext(ca.database.db, asked) : undefined;
  if (found === undefined)
    throw new AcmeError('malformed', `There is no directory ${quoted(slug, 63)} here.`, { status: 404 });
  const { directory, slugs, account } = found;
  requireAdmittedClient(directory, clientAddress);
  return { directory: { ...directory, slugs, requestSlug: slug }, account };
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
