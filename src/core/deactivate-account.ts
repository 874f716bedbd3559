// Deactivating an account, as its client asks for (RFC 8555 section 7.3.6).
import type { AcmeKeyRow } from '../store/acme-keys.ts';
import { type AccountView, accountEnded, accountView, clientActor } from './accounts.ts';
import { auditedAcmeKey } from './acme-keys.ts';
import type { AcmeAccount } from './acme-requests.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import { endAccount } from './end-account.ts';
import { formatId } from './ids.ts';
import { notifyOwner } from './own-account.ts';

const end = {
  to: 'deactivated',
  detail: 'The account was deactivated by its owner.',
  require: ({ state }: AcmeKeyRow) => {
    if (state !== 'valid') throw accountEnded();
  },
} as const;

/**
 * Ends the account for good and withdraws its key, whoever made it. Its open orders, `processing` too, and its
 * authorizations end at once; its certificates stay valid (ACC-11). Locks the account, its orders and authorizations.
 * Throws `unauthorized` (AcmeError) for one that has ended meanwhile.
 */
export async function deactivateAccount(ca: Ca, account: AcmeAccount, requestId: string): Promise<AccountView> {
  const { id } = account;
  const now = ca.clock.now();
  const { row, endedOrders } = await ca.database.inTransaction(async (tx) => {
    const ended = await endAccount(tx, id, end, now);
    const after = { ...auditedAcmeKey(ended.row), ended_orders: ended.endedOrders };
    const fields = { before: auditedAcmeKey(ended.before), after };
    await recordChange(tx, clientActor(account, requestId), now, {
      action: 'deactivate',
      kind: 'acme_key',
      id,
      ...fields,
    });
    await notifyOwner(tx, ended.row);
    return ended;
  });
  ca.events.acmeKeyDeactivated({ id: formatId('acmk', id), endedOrders });
  return accountView({ ...account, contacts: row.contacts, state: row.state });
}
