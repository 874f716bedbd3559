// An order as ACME clients are sent it (RFC 8555 section 7.1.3).
import type { AcmeOrder } from '../core/acme-orders.ts';
import { acmeUrlOf } from '../core/urls.ts';
import { formatSeconds } from '../schema/timestamp.ts';
import { renderProblem } from './problems.ts';
import type { AcmeReply, AcmeRequest } from './route.ts';

const PROCESSING_RETRY_SECONDS = 2;

/** With its own URL (G-2), and while it is being signed with a time to come again. */
export const orderReply = (request: AcmeRequest, order: AcmeOrder, status: 200 | 201): AcmeReply => ({
  status,
  json: renderOrder(request, order),
  headers: {
    Location: urlOf(request, 'order', order.id),
    ...(order.state === 'processing' && { 'Retry-After': String(PROCESSING_RETRY_SECONDS) }),
  },
});

const renderOrder = (request: AcmeRequest, order: AcmeOrder) => ({
  status: order.state,
  expires: formatSeconds(order.expiresAt),
  identifiers: order.identifiers.map(({ type, value }) => ({ type, value })),
  ...(order.notBefore && { notBefore: formatSeconds(order.notBefore) }),
  ...(order.notAfter && { notAfter: formatSeconds(order.notAfter) }),
  profile: order.profile,
  ...(order.replaces !== undefined && { replaces: order.replaces }),
  authorizations: order.authorizationIds.map((id) => urlOf(request, 'authorization', id)),
  finalize: urlOf(request, 'finalize', order.id),
  ...(order.issuedCertId !== undefined && { certificate: urlOf(request, 'certificate', order.issuedCertId) }),
  // Shell clients end what they read of an object at the first brace (G-8).
  ...(order.error && { error: renderProblem(order.error) }),
});

const urlOf = (
  { ca, directory }: AcmeRequest,
  path: 'order' | 'finalize' | 'authorization' | 'certificate',
  uuid: string,
): string => acmeUrlOf(ca.urls, directory.requestSlug, path, uuid);
