// What an ACME client changes of its own account. Its changes always win: the row may be of /v1 or of a custom resource.
import { type AcmeKeyRow, changeOwnAcmeKey, findAcmeKey, type OwnAcmeKeyChanges } from '../store/acme-keys.ts';
import type { Tx } from '../store/database.ts';
import { notifyOwners } from '../store/origin.ts';
import { accountEnded, clientActor } from './accounts.ts';
import { AcmeError } from './acme-error.ts';
import type { AcmeAccount } from './acme-requests.ts';
import { type Change, recordChange } from './audit-events.ts';
import { ownerOf } from './origin.ts';

type OwnChange = {
  readonly changes: OwnAcmeKeyChanges;
  /** Fields as /v1 names them. */
  readonly audited: Pick<Change, 'before' | 'after'>;
  readonly requestId: string;
};

/**
 * Writes the change, its record, and has the custom resource visited that the account belongs to. Throws AcmeError when
 * the account is not the one whose key signed the request any more: `unauthorized` for one that has ended, `malformed`
 * for one that has another key (KEY-4).
 */
export async function writeOwnChange(
  tx: Tx,
  account: AcmeAccount,
  { changes, audited, requestId }: OwnChange,
  now: Date,
): Promise<void> {
  const row = await changeOwnAcmeKey(tx, account, changes);
  if (row === undefined) throw await changeRefused(tx, account);
  const change = { action: 'update', kind: 'acme_key', id: account.id, ...audited } as const;
  await recordChange(tx, clientActor(account, requestId), now, change);
  await notifyOwner(tx, row);
}

async function changeRefused(tx: Tx, { id }: AcmeAccount): Promise<AcmeError> {
  const row = await findAcmeKey(tx, id);
  return row?.state === 'valid' ? keyReplaced() : accountEnded();
}

/** What a request hears whose account has got another key since it was signed, or is no longer the one it names. */
export const keyReplaced = (): AcmeError =>
  new AcmeError('malformed', 'The account has another key by now; begin again with that one.');

/** Has the operator visit the custom resource that an account belongs to. */
export async function notifyOwner(tx: Tx, row: AcmeKeyRow): Promise<void> {
  const owner = ownerOf(row);
  if (owner !== undefined) await notifyOwners(tx, 'acme_key', [owner]);
}
