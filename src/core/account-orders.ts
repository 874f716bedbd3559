// The list of an account's orders (RFC 8555 section 7.1.2.1), in pages.
import { listAccountOrderIds } from '../store/account-orders.ts';
import { AcmeError } from './acme-error.ts';
import type { AcmeAccount } from './acme-requests.ts';
import type { Ca } from './ca.ts';
import { formatId, parseId } from './ids.ts';

export type AccountOrders = {
  /** Uuids, newest first. */
  readonly orderIds: readonly string[];
  /** Where the next page begins; undefined on the last one. */
  readonly nextCursor: string | undefined;
};

/** What one statement of the store reads at most. */
const PAGE = 200;

/**
 * One page of the orders that are not invalid; `cursor` is that of the page before. Orders made meanwhile move nothing
 * (ORDL-2). Throws `malformed` (AcmeError) for what is no cursor.
 */
export async function listAccountOrders(
  { database: { db }, clock }: Ca,
  { id: acmeKeyId }: AcmeAccount,
  cursor?: string,
): Promise<AccountOrders> {
  const after = cursor === undefined ? undefined : orderOf(cursor);
  const { ids, hasMore } = await listAccountOrderIds(db, { acmeKeyId, after, limit: PAGE }, clock.now());
  const last = ids.at(-1);
  return { orderIds: ids, nextCursor: hasMore && last !== undefined ? formatId('ordr', last) : undefined };
}

function orderOf(cursor: string): string {
  const id = parseId('ordr', cursor);
  if (id === undefined) throw new AcmeError('malformed', 'The cursor is not one of a page of orders; begin again.');
  return id;
}
