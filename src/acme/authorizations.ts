// newAuthz, and authorizations as the client reads and deactivates them (RFC 8555 sections 7.4.1, 7.5 and 7.5.2).
import {
  type AcmeAuthorization,
  deactivateAuthorization,
  getAuthorization,
  readAuthorization,
} from '../core/authorizations.ts';
import { parseId } from '../core/ids.ts';
import { newAuthorization } from '../core/new-order.ts';
import { acmePaths, acmeUrlOf, idPrefixOf } from '../core/urls.ts';
import { oneOf, Type } from '../schema/define.ts';
import { formatSeconds } from '../schema/timestamp.ts';
import { renderChallenge, retryAfter } from './challenges.ts';
import { identifierSchema } from './identifier-schema.ts';
import { type AcmeReply, type AcmeRequest, signedRoute } from './route.ts';

export const newAuthzRoute = signedRoute({
  path: acmePaths.newAuthz,
  signer: 'account',
  json: Type.Object({ identifier: identifierSchema }),
  handle: async (request) => {
    const { ca, directory, payload } = request;
    const id = await newAuthorization(ca, request, payload.identifier);
    const { headers, ...reply } = authorizationReply(request, await getAuthorization(ca, request, id));
    const location = acmeUrlOf(ca.urls, directory.requestSlug, 'authorization', id);
    return { ...reply, status: 201, headers: { ...headers, Location: location } };
  },
});

export const authorizationRoute = signedRoute({
  path: acmePaths.authorization,
  signer: 'account',
  json: Type.Object({ status: oneOf(['deactivated']) }),
  orEmpty: true,
  ahead: ({ ca, accountId, params }) => readAuthorization(ca, accountId, idIn(params)),
  handle: async (request) => {
    const answer = request.payload === undefined ? getAuthorization : deactivateAuthorization;
    return authorizationReply(request, await answer(request.ca, request, idIn(request.params), request.ahead));
  },
});

const idIn = ({ id = '' }: AcmeRequest['params']): string | undefined => parseId(idPrefixOf('authorization'), id);

const authorizationReply = (request: AcmeRequest, authorization: AcmeAuthorization): AcmeReply => ({
  status: 200,
  json: renderAuthorization(request, authorization),
  headers: retryAfter(authorization),
});

/** The identifier first: shell clients take the first "value" (G-9). */
const renderAuthorization = (request: AcmeRequest, authorization: AcmeAuthorization) => ({
  identifier: { type: authorization.identifier.type, value: authorization.identifier.value },
  status: authorization.state,
  expires: formatSeconds(authorization.expiresAt),
  challenges: authorization.challenges.map((challenge) => renderChallenge(request, challenge)),
  ...(authorization.wildcard && { wildcard: true }),
});
