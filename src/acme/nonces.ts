// newNonce (RFC 8555 section 7.2). The nonce itself, and that it is not kept by caches, are of every reply.
import { acmePaths } from '../core/urls.ts';
import { openRoute } from './route.ts';

/** NON-2: uacme takes nothing but 204 for a GET. */
export const newNonceRoute = openRoute({
  path: acmePaths.newNonce,
  mayLag: true,
  handle: ({ method }) => ({ status: method === 'GET' ? 204 : 200 }),
});
