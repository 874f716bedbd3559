// The list of an account's orders (RFC 8555 section 7.1.2.1).
import { listAccountOrders } from '../core/account-orders.ts';
import { acmePaths, acmeUrlOf } from '../core/urls.ts';
import { requireOwnUrl } from './accounts.ts';
import { signedRoute } from './route.ts';

export const accountOrdersRoute = signedRoute({
  path: acmePaths.orders,
  signer: 'account',
  handle: async (request) => {
    const { ca, directory, account, head } = request;
    requireOwnUrl(request);
    const { orderIds, nextCursor } = await listAccountOrders(ca, account, head.query.get('cursor') ?? undefined);
    const slug = directory.requestSlug;
    const next = `${acmeUrlOf(ca.urls, slug, 'orders', account.id)}?cursor=${nextCursor}`;
    return {
      status: 200,
      ...(nextCursor !== undefined && { headers: { Link: `<${next}>;rel="next"` } }),
      json: { orders: orderIds.map((id) => acmeUrlOf(ca.urls, slug, 'order', id)) },
    };
  },
});
