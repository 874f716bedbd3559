// newOrder and newAuthz: what an account asks for is begun, where every rule lets it pass.
import { insertAuthorization } from '../store/new-authorization.ts';
import { insertOrder } from '../store/new-order.ts';
import { AcmeError } from './acme-error.ts';
import { type AcmeOrder, acmeOrder } from './acme-orders.ts';
import { findAcmeContext, requireAccount } from './acme-requests.ts';
import type { Applicant } from './applicant.ts';
import { newAuthorizations, reusableAt } from './authorization-offer.ts';
import type { Ca } from './ca.ts';
import type { Identifier, RawIdentifier } from './identifiers.ts';
import { formatId, newUuid } from './ids.ts';
import { decideIssuance, type Wish } from './issuance-decision.ts';
import { spendOrders } from './rate-limits.ts';
import { checkReplaces } from './replaced-cert.ts';

export type OrderWish = Wish & {
  /** ARI-7: the certificate that the new one replaces. */
  readonly replaces?: string | undefined;
};

/**
 * A new order, each time (ORD-21): `ready` where the account is auto-approved or valid authorizations serve for all
 * identifiers, else `pending`. Throws the AcmeError of the rule that refuses. Holds the account and the authorizations
 * that are reused; decides anew where account, directory, its CA cert or the replaced certificate changed meanwhile.
 */
export async function newOrder(ca: Ca, applicant: Applicant, wish: OrderWish): Promise<AcmeOrder> {
  const order = await asSeen(ca, applicant, (seen) => placeOrder(ca, seen, wish));
  const { id, state, identifiers } = order;
  ca.events.orderCreated({
    ...facts(applicant),
    id: formatId('ordr', id),
    state: state === 'ready' ? state : 'pending',
    identifiers: identifiers.length,
  });
  return order;
}

/** PRE-1: an authorization that no order asked for; its uuid. Throws as newOrder does, and `malformed` for a wildcard. */
export async function newAuthorization(ca: Ca, applicant: Applicant, identifier: RawIdentifier): Promise<string> {
  if (identifier.type === 'dns' && identifier.value.startsWith('*.'))
    throw new AcmeError(
      'malformed',
      'A wildcard name cannot be authorized in advance; order it (RFC 8555 section 7.4.1).',
    );
  const id = await asSeen(ca, applicant, (seen) => placeAuthorization(ca, seen, identifier));
  ca.events.authorizationCreated({ ...facts(applicant), id: formatId('authz', id) });
  return id;
}

async function placeOrder(ca: Ca, seen: Applicant, wish: OrderWish): Promise<AcmeOrder | undefined> {
  const { now, identifiers, written, notBefore, notAfter, profile, issuerVersion } = await decideIssuance(
    ca,
    seen,
    wish,
  );
  const order = { id: newUuid(now), not_before: notBefore ?? null, not_after: notAfter ?? null, profile };
  const row = { ...order, identifiers: written, replaces: wish.replaces || null };
  const replacedCertId = row.replaces === null ? undefined : await replacedCert(ca, seen, row.replaces, identifiers);
  // What a rule refuses is no order.
  await spendOrders(ca, seen.account.id);
  const wanted = newAuthorizations(identifiers, { now, auto: isAuto(seen) });
  const inserted = await insertOrder(ca.database.db, {
    seen: { ...seen, issuerVersion },
    order: { ...row, replacedCertId },
    wanted,
    reuse: reusableAt(now),
  });
  return inserted && acmeOrder({ ...row, ...inserted, error: null, issued_cert_id: null }, now);
}

const replacedCert = (
  ca: Ca,
  { directory, account }: Applicant,
  replaces: string,
  identifiers: readonly Identifier[],
): Promise<string | undefined> => {
  const names = identifiers.map(({ value }) => value);
  return checkReplaces(ca, replaces, { directoryId: directory.id, acmeKeyId: account.id, names });
};

async function placeAuthorization(ca: Ca, seen: Applicant, identifier: RawIdentifier): Promise<string | undefined> {
  const { now, identifiers, issuerVersion } = await decideIssuance(ca, seen, { identifiers: [identifier] });
  // Authorizations without an order would be a way around the limit of orders (ORD-28).
  await spendOrders(ca, seen.account.id);
  const wanted = newAuthorizations(identifiers, { now, auto: isAuto(seen) });
  return (await insertAuthorization(ca.database.db, { seen: { ...seen, issuerVersion }, wanted }))
    ? wanted.list[0]?.id
    : undefined;
}

/** Runs the work again, once, where it finds account, directory or CA cert no longer as they were seen. */
async function asSeen<Result>(
  ca: Ca,
  applicant: Applicant,
  work: (seen: Applicant) => Promise<Result | undefined>,
): Promise<Result> {
  const result = (await work(applicant)) ?? (await work(await seenAgain(ca, applicant)));
  if (result !== undefined) return result;
  throw new AcmeError('serverInternal', 'The account, its directory or its CA is being changed; try again.', {
    status: 503,
    headers: { 'Retry-After': '1' },
  });
}

/** Throws as the request itself would have been refused. */
async function seenAgain(ca: Ca, applicant: Applicant): Promise<Applicant> {
  const { directory, account, clientAddress } = applicant;
  const slug = directory.requestSlug;
  const context = await findAcmeContext(ca, { slug, accountId: account.id, clientAddress });
  return { ...applicant, directory: context.directory, account: requireAccount(context, { slug, id: account.id }) };
}

const isAuto = ({ account }: Applicant): boolean => account.order_validations === 'auto_approve';

const facts = ({ account, directory, requestId }: Applicant) => ({
  account: formatId('acmk', account.id),
  directory: directory.slug,
  requestId,
});
