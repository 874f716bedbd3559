// Rows of the ACME door that answer with what they were given, one for each way of signing.
import { directoryRoute } from '../../src/acme/directory.ts';
import { newNonceRoute } from '../../src/acme/nonces.ts';
import { type AcmeRoute, signedRoute } from '../../src/acme/route.ts';
import { acmePaths } from '../../src/core/urls.ts';
import { Type } from '../../src/schema/define.ts';

const anything = Type.Object({ note: Type.Optional(Type.String({ maxLength: 20 })) });

export const sampleAcmeRoutes: readonly AcmeRoute[] = [
  directoryRoute,
  newNonceRoute,
  signedRoute({
    path: acmePaths.newAccount,
    signer: 'newKey',
    json: anything,
    handle: async ({ key, payload }) => ({
      status: 201,
      json: { thumbprint: key.thumbprint.toString('base64url'), payload },
    }),
  }),
  signedRoute({
    path: acmePaths.newOrder,
    signer: 'account',
    json: anything,
    handle: async ({ account, payload, url, directory }) => {
      if (payload.note === 'bug') throw new Error('the password is swordfish');
      return { status: 201, json: { account: account.id, payload, url, slug: directory.requestSlug } };
    },
  }),
  signedRoute({
    path: acmePaths.account,
    signer: 'account',
    json: anything,
    orEmpty: true,
    handle: async ({ payload }) => ({ status: 200, json: { isRead: payload === undefined } }),
  }),
  signedRoute({
    path: acmePaths.order,
    signer: 'account',
    handle: async ({ params, head }) => ({
      status: 200,
      json: { id: params.id, query: head.query.toString() },
      headers: { Link: ['<https://elsewhere.example/>;rel="alternate"'] },
    }),
  }),
  signedRoute({
    path: acmePaths.revokeCert,
    signer: 'accountOrCertificateKey',
    json: anything,
    handle: async ({ signer }) => ({ status: 200, json: { by: 'account' in signer ? 'account' : 'key' } }),
  }),
];
