// Orders as ACME clients see them.
import type { OrderState } from '../lifecycles/order.ts';
import { formatSeconds } from '../schema/timestamp.ts';
import { type AcmeOrderRow, findAcmeOrder, type Held } from '../store/acme-orders.ts';
import type { Identifier, StoredProblem } from '../store/tables.ts';
import { type Applicant, type Found, own } from './applicant.ts';
import type { Ca } from './ca.ts';
import { orderExpired, orderState } from './order-state.ts';

export type AcmeOrder = {
  readonly id: string;
  readonly state: OrderState;
  readonly expiresAt: Date;
  /** As the client wrote them (ORD-2). */
  readonly identifiers: readonly Identifier[];
  readonly notBefore: Date | undefined;
  readonly notAfter: Date | undefined;
  readonly profile: string;
  readonly replaces: string | undefined;
  /** In the order of the identifiers. */
  readonly authorizationIds: readonly string[];
  /** Of a valid order. */
  readonly issuedCertId: string | undefined;
  /** Of an invalid order. */
  readonly error: StoredProblem | undefined;
};

/** An order by its uuid; undefined for one of another account. */
export const readAcmeOrder = async (ca: Ca, accountId: string, id: string | undefined): Found<AcmeOrderRow & Held> =>
  id === undefined ? undefined : findAcmeOrder(ca.database.db, { id, accountId });

/** An order of the account by its uuid. Throws `malformed` (404) for every other. */
export async function getAcmeOrder(
  ca: Ca,
  applicant: Applicant,
  id: string | undefined,
  found = readAcmeOrder(ca, applicant.account.id, id),
): Promise<AcmeOrder> {
  return acmeOrder(await own('order', applicant, found), ca.clock.now());
}

export function acmeOrder(row: AcmeOrderRow, now: Date): AcmeOrder {
  const state = orderState(row, now);
  return {
    id: row.id,
    state,
    expiresAt: row.expires_at,
    identifiers: row.identifiers,
    notBefore: row.not_before ?? undefined,
    notAfter: row.not_after ?? undefined,
    profile: row.profile,
    replaces: row.replaces ?? undefined,
    authorizationIds: row.authorization_ids,
    issuedCertId: state === 'valid' ? (row.issued_cert_id ?? undefined) : undefined,
    error: state === 'invalid' ? (row.error ?? orderExpired(formatSeconds(row.expires_at))) : undefined,
  };
}
