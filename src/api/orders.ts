// /v1/orders: what account keys ordered, listed, looked at and cancelled.
import { formatId } from '../core/ids.ts';
import { cancelOrder, getOrder, listOrders, type OrderView, type SingleOrderView } from '../core/orders.ts';
import { readOnly, replyShape } from '../resources/field.ts';
import { orderFields, orderStates } from '../resources/record-fields.ts';
import { closed, described, nullable, Type } from '../schema/define.ts';
import { formatSeconds } from '../schema/timestamp.ts';
import { listedIssuedCert, renderIssuedCert } from './issued-certs.ts';
import { listRoute } from './paging.ts';
import { enumParameter, idParameter } from './parameters.ts';
import { type ApiRoute, ok, route } from './route.ts';
import { named } from './shapes.ts';

const text = (description: string, example: string) => Type.String({ description, examples: [example] });

const orderError = closed({
  type: text('An error type of RFC 8555 section 6.7.', 'urn:ietf:params:acme:error:unauthorized'),
  detail: text('A sentence for people.', 'The order was cancelled by an administrator.'),
});

const singleFields = {
  ...orderFields,
  error: readOnly(described(nullable(orderError), 'Why it became invalid; null otherwise.', { examples: [null] })),
  issued_cert: readOnly(listedIssuedCert, 'sometimes'),
};

const listedOrder = named('OrderListItem', replyShape(orderFields, 'list'));
const singleOrder = named('Order', replyShape(singleFields, 'single'));

const tag = 'Orders';
const path = '/v1/orders';
const params = { id: 'order' } as const;

export const orderRoutes: readonly ApiRoute[] = [
  listRoute({
    path,
    operationId: 'listOrders',
    tag,
    summary: 'List orders',
    description: 'A pending or ready order past its `expires_at` is invalid, here as everywhere.',
    permission: 'read',
    kind: 'order',
    filters: {
      acme_key_id: idParameter('acme_key', 'Only those of this account key.'),
      directory_id: idParameter('directory', 'Only those of this directory.'),
      state: enumParameter(orderStates, 'Only those in this state.'),
    },
    requireOneOf: ['acme_key_id', 'directory_id'],
    defaultDirection: 'desc',
    item: listedOrder,
    list: ({ ca, filters, page }) =>
      listOrders(ca, { acmeKeyId: filters.acme_key_id, directoryId: filters.directory_id, state: filters.state }, page),
    render: renderOrder,
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    operationId: 'getOrder',
    tag,
    summary: 'Retrieve an order',
    description: 'A valid order holds its `issued_cert`.',
    permission: 'read',
    params,
    replies: { 200: { description: 'The order.', schema: singleOrder } },
    handle: async ({ ca, params: { id } }) => ok(renderSingle(await getOrder(ca, id))),
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    operationId: 'cancelOrder',
    tag,
    summary: 'Cancel an order',
    description: 'Only while it is pending or ready. It becomes invalid, and its `error` says why.',
    permission: 'admin',
    params,
    replies: { 200: { description: 'The order, cancelled.', schema: singleOrder } },
    handle: async ({ ca, caller, params: { id } }) => ok(renderSingle(await cancelOrder(ca, caller, id))),
  }),
];

function renderOrder(view: OrderView) {
  return {
    id: formatId('ordr', view.id),
    object: 'order',
    acme_key_id: formatId('acmk', view.acmeKeyId),
    directory_id: formatId('dir', view.directoryId),
    created_at: view.createdAt.toISOString(),
    expires_at: view.expiresAt.toISOString(),
    dns_identifiers: view.dnsIdentifiers,
    ip_identifiers: view.ipIdentifiers,
    not_before: view.notBefore === undefined ? null : formatSeconds(view.notBefore),
    not_after: view.notAfter === undefined ? null : formatSeconds(view.notAfter),
    state: view.state,
  };
}

const renderSingle = (view: SingleOrderView) => ({
  ...renderOrder(view),
  error: view.error === undefined ? null : { type: errorType(view.error.type), detail: view.error.detail },
  ...(view.issuedCert !== undefined && { issued_cert: renderIssuedCert(view.issuedCert) }),
});

/** Stored without what all of them begin with. */
const errorType = (type: string): string => `urn:ietf:params:acme:error:${type}`;
