// The end of an account, by whomever: its key is withdrawn, and what it has begun ends with it.
import { type AcmeKeyRow, endAcmeKey, lockAcmeKey } from '../store/acme-keys.ts';
import type { Tx } from '../store/database.ts';
import { notifyTokenOwner } from '../store/external-bindings.ts';
import { endAuthorizations, endOrders, endProbes } from '../store/open-work.ts';
import { invalidateKey } from '../store/used-keys.ts';
import { found } from './object-kinds.ts';

/** What became of an account; `before` is its row as it was. */
export type EndedAccount = {
  readonly before: AcmeKeyRow;
  readonly row: AcmeKeyRow;
  readonly endedOrders: number;
};

type End = {
  readonly to: 'revoked' | 'deactivated';
  /** What the clients of its orders are told. */
  readonly detail: string;
  /** Throws to leave a locked account as it is. */
  readonly require: (seen: AcmeKeyRow) => void;
};

/**
 * Ends an account for good. Orders that are not done, `processing` too, and its authorizations end at once; its
 * certificates stay as they are. Locks the account, then its orders and authorizations. Throws `not_found`, and what
 * `require` throws, which has to refuse an account that has ended.
 */
export async function endAccount(tx: Tx, id: string, { to, detail, require }: End, now: Date): Promise<EndedAccount> {
  const before = found('acme_key', id, await lockAcmeKey(tx, id));
  require(before);
  const row = await endAcmeKey(tx, before, to);
  if (row === undefined) throw new Error('an account that was locked while it was valid is valid no more');
  await invalidateKey(tx, before.thumbprint);
  const problem = { type: 'unauthorized', detail };
  const endedOrders = await endOrders(tx, id, 'all', problem);
  await endAuthorizations(tx, id, 'all', now);
  await endProbes(tx, id, problem);
  if (before.external_binding_id !== null) await notifyTokenOwner(tx, before.external_binding_id);
  return { before, row, endedOrders };
}
