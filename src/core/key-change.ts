// keyChange (RFC 8555 section 7.3.5): another key for an account; everything that it has begun goes on.
import { claimKey, invalidateKey } from '../store/used-keys.ts';
import type { AccountKey } from './account-key.ts';
import { type AccountView, accountOfKey, accountView, isKeyTaken } from './accounts.ts';
import { AcmeError } from './acme-error.ts';
import type { AcmeAccount, AcmeDirectory } from './acme-requests.ts';
import type { Ca } from './ca.ts';
import { formatId } from './ids.ts';
import { keyReplaced, writeOwnChange } from './own-account.ts';
import { accountUrl } from './urls.ts';

export type KeyChange = {
  readonly directory: AcmeDirectory;
  /** As it was when the request was verified. */
  readonly account: AcmeAccount;
  /** The new one, which has signed the request, too. */
  readonly key: AccountKey;
  /** RFC 7638, of the key that the client takes for the current one. */
  readonly oldThumbprint: Buffer;
  readonly requestId: string;
};

/**
 * Gives the account another key and withdraws the old one for ever. Of two at once one wins; the other is told that its
 * old key is not the current one (KEY-4). Locks nothing before it writes. Throws AcmeError: `malformed`, with status 409
 * and the account's Location for the key of an account here, `unauthorized`, `badPublicKey`.
 */
export async function changeAccountKey(ca: Ca, change: KeyChange): Promise<AccountView> {
  const { account, key, oldThumbprint, requestId } = change;
  if (!oldThumbprint.equals(account.thumbprint)) throw keyReplaced();
  if (key.thumbprint.equals(account.thumbprint))
    throw new AcmeError('malformed', 'The new key is the key that the account has already; make a new one.');
  await requireUnknownKey(ca, change);
  const now = ca.clock.now();
  const changes = { thumbprint: key.thumbprint, spki: key.spki, jwk: JSON.stringify(key.jwk) };
  const audited = { before: thumbprintField(account), after: thumbprintField(key) };
  try {
    await ca.database.inTransaction(async (tx) => {
      // Before the row, as whoever registers a key does: in the other order the two could wait for each other.
      await claimKey(tx, key.thumbprint, account.id, now);
      await writeOwnChange(tx, account, { changes, audited, requestId }, now);
      await invalidateKey(tx, account.thumbprint);
    });
  } catch (error) {
    if (isKeyTaken(error)) await requireUnknownKey(ca, change);
    throw error;
  }
  ca.events.acmeKeyChanged({ id: formatId('acmk', account.id) });
  return accountView(account);
}

async function requireUnknownKey(ca: Ca, { directory, account, key }: KeyChange): Promise<void> {
  const other = await accountOfKey(ca, directory, key);
  if (other === undefined) return;
  // The same change, sent twice at once.
  if (other.id === account.id) throw keyReplaced();
  throw new AcmeError('malformed', 'The new key is that of another account of this directory; make a new one.', {
    status: 409,
    headers: { Location: accountUrl(ca.urls, directory.requestSlug, other.id) },
  });
}

const thumbprintField = ({ thumbprint }: { readonly thumbprint: Buffer }) => ({
  jwk_thumbprint: thumbprint.toString('base64url'),
});
