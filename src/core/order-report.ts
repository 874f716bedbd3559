// Orders with the reasons for their failures, as the status page shows them.
import type { AuthorizationState } from '../lifecycles/authorization.ts';
import type { OrderState } from '../lifecycles/order.ts';
import { listOrdersAcross } from '../store/across.ts';
import { listDirectoryRows } from '../store/directories.ts';
import { type ChallengeOfOrder, findOrderErrors, listOrderChallenges } from '../store/order-failures.ts';
import type { StoredProblem } from '../store/tables.ts';
import { authorizationState } from './authorization-state.ts';
import type { Ca } from './ca.ts';
import { getOrder, listOrders, type OrderFilter, type OrderView, orderView, type SingleOrderView } from './orders.ts';
import type { Page } from './paging.ts';

export type ListedOrder = OrderView & { readonly error: StoredProblem | undefined };

export type ShownChallenge = {
  readonly type: ChallengeOfOrder['type'];
  readonly state: ChallengeOfOrder['state'];
  readonly attempts: number;
  readonly validatedAt: Date | undefined;
  /** Of the last try, and of those before it where it has ended. */
  readonly error: StoredProblem | undefined;
  /** Of the tries so far, while there are more to come. */
  readonly failures: readonly StoredProblem[];
};

export type ShownAuthorization = {
  readonly id: string;
  /** With `*.` where it is of a wildcard. */
  readonly name: string;
  readonly state: AuthorizationState;
  /** Approved for the account, without a challenge. */
  readonly isAutoApproved: boolean;
  readonly expiresAt: Date;
  readonly challenges: readonly ShownChallenge[];
};

export type OrderReport = SingleOrderView & { readonly authorizations: readonly ShownAuthorization[] };

export type PagePlace = { readonly limit: number; readonly after: string | undefined };

/** Directories looked at where none is named and a state is: the newest. */
export const MOST_DIRECTORIES_ASKED = 100;

/** The newest first: of one account key or directory, of all, or, in one state, of the newest directories. Throws `unknown_cursor`. */
export async function listReportedOrders(ca: Ca, filter: OrderFilter, place: PagePlace): Promise<Page<ListedOrder>> {
  const page = await pageOfOrders(ca, filter, place);
  const invalid = page.items.flatMap(({ id, state }) => (state === 'invalid' ? [id] : []));
  const errors = invalid.length === 0 ? undefined : await findOrderErrors(ca.database.db, invalid);
  return { ...page, items: page.items.map((order) => ({ ...order, error: errors?.get(order.id) })) };
}

/** An order by its uuid, with what came of the authorization of each name. Throws `not_found`. */
export async function getOrderReport(ca: Ca, id: string): Promise<OrderReport> {
  const [order, rows] = await Promise.all([getOrder(ca, id), listOrderChallenges(ca.database.db, id)]);
  const now = ca.clock.now();
  const authorizations = [...Map.groupBy(rows, (row) => row.authorization_id).values()].flatMap((group) => {
    const [row] = group;
    if (row === undefined) return [];
    return [
      {
        id: row.authorization_id,
        name: row.wildcard ? `*.${row.value}` : row.value,
        state: authorizationState({ state: row.authorization_state, expires_at: row.expires_at }, now),
        isAutoApproved: row.auto,
        expiresAt: row.expires_at,
        challenges: group.flatMap((joined) => (joined.id === null ? [] : [shownChallenge(joined)])),
      },
    ];
  });
  return { ...order, authorizations };
}

async function pageOfOrders(ca: Ca, filter: OrderFilter, { limit, after }: PagePlace): Promise<Page<OrderView>> {
  const { acmeKeyId, directoryId, state } = filter;
  // Of all orders there is no index by state: that of each directory has them.
  if (state !== undefined && acmeKeyId === undefined && directoryId === undefined)
    return acrossDirectories(ca, state, { limit, after });
  return listOrders(ca, filter, { limit, direction: 'desc', sort: 'id', ...(after !== undefined && { after }) });
}

async function acrossDirectories(ca: Ca, state: OrderState, { limit, after }: PagePlace): Promise<Page<OrderView>> {
  const { db } = ca.database;
  const now = ca.clock.now();
  const page = { limit: MOST_DIRECTORIES_ASKED, direction: 'desc', sort: 'id' } as const;
  const ids = (await listDirectoryRows(db, {}, page))?.rows.map(({ id }) => id) ?? [];
  const rows = await listOrdersAcross(db, state, { ids, limit, after });
  const items = rows.slice(0, limit).map((row) => orderView(row, now));
  return { items, hasMore: rows.length > limit };
}

const shownChallenge = (row: ChallengeOfOrder): ShownChallenge => ({
  type: row.type,
  state: row.state,
  attempts: row.attempts,
  validatedAt: row.validated_at ?? undefined,
  error: row.error ?? undefined,
  failures: row.failures ?? [],
});
