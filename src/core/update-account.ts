// Updating an account, as its client asks for (RFC 8555 section 7.3.2): its contacts, and nothing else.
import { type AccountView, accountView } from './accounts.ts';
import type { AcmeAccount } from './acme-requests.ts';
import type { Ca } from './ca.ts';
import { requireContacts } from './contacts.ts';
import { differing } from './differing.ts';
import { formatId } from './ids.ts';
import { writeOwnChange } from './own-account.ts';

/**
 * Gives the account these contacts, whoever made it; undefined changes nothing (ACC-10). Throws `unsupportedContact`,
 * `invalidContact`, `malformed`, and `unauthorized` for an account that has ended meanwhile (AcmeError).
 */
export async function updateAccount(
  ca: Ca,
  account: AcmeAccount,
  contacts: readonly string[] | undefined,
  requestId: string,
): Promise<AccountView> {
  const changes = differing(account, { contacts });
  if (changes.contacts === undefined) return accountView(account);
  requireContacts(changes.contacts);
  const now = ca.clock.now();
  const audited = { before: { contacts: account.contacts }, after: { contacts: changes.contacts } };
  await ca.database.inTransaction((tx) => writeOwnChange(tx, account, { changes, audited, requestId }, now));
  ca.events.acmeKeyUpdated({ id: formatId('acmk', account.id), fields: ['contacts'] });
  return accountView({ ...account, ...changes });
}
