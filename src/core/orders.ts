// Orders as callers of /v1 see them: one, a list, and the cancelling of one that is still open.
import type { OrderState } from '../lifecycles/order.ts';
import { findIssuedCert } from '../store/issued-certs.ts';
import {
  cancelOpenOrder,
  findOrder,
  listOrderRows,
  lockOrder,
  type OrderFilter,
  type OrderRow,
  type SingleOrderRow,
} from '../store/orders.ts';
import type { StoredProblem } from '../store/tables.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { CaError } from './errors.ts';
import { formatId } from './ids.ts';
import { type IssuedCertView, issuedCertView } from './issued-certs.ts';
import { found } from './object-kinds.ts';
import { orderState } from './order-state.ts';
import { type Page, type PageRequest, pageOf } from './paging.ts';

export type { OrderFilter };

export type OrderView = {
  readonly id: string;
  readonly acmeKeyId: string;
  readonly directoryId: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly dnsIdentifiers: readonly string[];
  readonly ipIdentifiers: readonly string[];
  readonly notBefore: Date | undefined;
  readonly notAfter: Date | undefined;
  readonly state: OrderState;
};

export type SingleOrderView = OrderView & {
  /** Why it became invalid. */
  readonly error: StoredProblem | undefined;
  /** Of a valid order. */
  readonly issuedCert: IssuedCertView | undefined;
};

/** What the client of a cancelled order is told; the type is one of RFC 8555 section 6.7. */
const cancelled: StoredProblem = { type: 'unauthorized', detail: 'The order was cancelled by an administrator.' };

/** An order by its uuid, with the certificate that came of it. Throws `not_found`. */
export async function getOrder(ca: Ca, id: string): Promise<SingleOrderView> {
  const now = ca.clock.now();
  const row = found('order', id, await findOrder(ca.database.db, id));
  const cert =
    row.state === 'valid' && row.issued_cert_id !== null
      ? await findIssuedCert(ca.database.db, row.issued_cert_id)
      : undefined;
  return { ...singleView(row, now), issuedCert: cert && issuedCertView(cert, now) };
}

/** One page of orders by id. One of the two ids is given. Throws `unknown_cursor`. */
export async function listOrders(ca: Ca, filter: OrderFilter, page: PageRequest): Promise<Page<OrderView>> {
  const now = ca.clock.now();
  return pageOf(await listOrderRows(ca.database.db, filter, page, now), (row) => orderView(row, now));
}

/** Ends a pending or ready order. Locks the order, so a client who goes on with it wins or loses. Throws `not_found` and `order_not_open`. */
export async function cancelOrder(ca: Ca, actor: Actor, id: string): Promise<SingleOrderView> {
  const now = ca.clock.now();
  return ca.database.inTransaction(async (tx) => {
    const before = found('order', id, await lockOrder(tx, id));
    const row = orderState(before, now) === 'invalid' ? undefined : await cancelOpenOrder(tx, id, cancelled);
    if (row === undefined) throw notOpen(before, now);
    const { state } = row;
    await recordChange(tx, actor, now, {
      action: 'cancel',
      kind: 'order',
      id,
      before: { state: before.state },
      after: { state },
    });
    return singleView(row, now);
  });
}

function notOpen(row: SingleOrderRow, now: Date): CaError {
  const state = orderState(row, now);
  const name = `Order ${formatId('ordr', row.id)}`;
  return new CaError('order_not_open', `${name} is ${state}; only pending and ready orders can be cancelled.`);
}

const singleView = (row: SingleOrderRow, now: Date): SingleOrderView => ({
  ...orderView(row, now),
  error: row.error ?? undefined,
  issuedCert: undefined,
});

/** An open one past its end is invalid. */
export const orderView = (row: OrderRow, now: Date): OrderView => ({
  id: row.id,
  acmeKeyId: row.acme_key_id,
  directoryId: row.directory_id,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  dnsIdentifiers: valuesOf(row, 'dns'),
  ipIdentifiers: valuesOf(row, 'ip'),
  notBefore: row.not_before ?? undefined,
  notAfter: row.not_after ?? undefined,
  state: orderState(row, now),
});

const valuesOf = ({ identifiers }: OrderRow, wanted: 'dns' | 'ip'): readonly string[] =>
  identifiers.filter(({ type }) => type === wanted).map(({ value }) => value);
