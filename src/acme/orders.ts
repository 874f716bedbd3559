// newOrder, and orders as the client polls them (RFC 8555 section 7.4).
import { getAcmeOrder, readAcmeOrder } from '../core/acme-orders.ts';
import { maxIdentifiers } from '../core/identifiers.ts';
import { parseId } from '../core/ids.ts';
import { newOrder } from '../core/new-order.ts';
import { acmePaths, idPrefixOf } from '../core/urls.ts';
import { listOf, Type } from '../schema/define.ts';
import { identifierSchema } from './identifier-schema.ts';
import { orderReply } from './order-reply.ts';
import { type AcmeRequest, signedRoute } from './route.ts';

const text = (maxLength: number) => Type.Optional(Type.String({ maxLength }));

export const newOrderRoute = signedRoute({
  path: acmePaths.newOrder,
  signer: 'account',
  json: Type.Object({
    identifiers: listOf(identifierSchema, maxIdentifiers, { minItems: 1 }),
    notBefore: text(100),
    notAfter: text(100),
    profile: text(100),
    replaces: text(200),
  }),
  handle: async (request) => orderReply(request, await newOrder(request.ca, request, request.payload), 201),
});

export const orderRoute = signedRoute({
  path: acmePaths.order,
  signer: 'account',
  ahead: ({ ca, accountId, params }) => readAcmeOrder(ca, accountId, idIn(params)),
  handle: async (request) =>
    orderReply(request, await getAcmeOrder(request.ca, request, idIn(request.params), request.ahead), 200),
});

const idIn = ({ id = '' }: AcmeRequest['params']): string | undefined => parseId(idPrefixOf('order'), id);
