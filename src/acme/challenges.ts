// Challenges as the client reads them and responds to them (RFC 8555 sections 7.1.5 and 7.5.1).
import { type AcmeChallenge, getChallenge, readFoundChallenge, respondToChallenge } from '../core/challenges.ts';
import { parseId } from '../core/ids.ts';
import { acmePaths, acmeUrlOf, idPrefixOf } from '../core/urls.ts';
import type { HttpHeaders } from '../http/route.ts';
import { Type } from '../schema/define.ts';
import { formatSeconds } from '../schema/timestamp.ts';
import { renderProblem } from './problems.ts';
import { type AcmeRequest, signedRoute } from './route.ts';

export const challengeRoute = signedRoute({
  path: acmePaths.challenge,
  signer: 'account',
  // JWS-23: what old clients send in the object is ignored.
  json: Type.Object({}),
  orEmpty: true,
  ahead: ({ ca, accountId, params }) => readFoundChallenge(ca, accountId, idIn(params)),
  handle: async (request) => {
    const { ca, directory, payload, ahead } = request;
    const answer = payload === undefined ? getChallenge : respondToChallenge;
    const challenge = await answer(ca, request, idIn(request.params), ahead);
    const authorization = acmeUrlOf(ca.urls, directory.requestSlug, 'authorization', challenge.authorizationId);
    return {
      status: 200,
      json: renderChallenge(request, challenge),
      // CHA-3, G-3: certbot gives up without it.
      headers: { Link: `<${authorization}>;rel="up"`, ...retryAfter(challenge) },
    };
  },
});

const idIn = ({ id = '' }: AcmeRequest['params']): string | undefined => parseId(idPrefixOf('challenge'), id);

/** In this order: shell clients read from brace to brace, so an error, which has its own, comes last (CHA-1, G-8). */
export const renderChallenge = ({ ca, directory }: AcmeRequest, challenge: AcmeChallenge) => ({
  type: challenge.type,
  url: acmeUrlOf(ca.urls, directory.requestSlug, 'challenge', challenge.id),
  status: challenge.state,
  token: challenge.token,
  ...(challenge.validatedAt && { validated: formatSeconds(challenge.validatedAt) }),
  ...(challenge.error && { error: renderProblem(challenge.error) }),
});

/** AUT-5, G-12. */
export const retryAfter = ({
  retryAfterSeconds: seconds,
}: {
  readonly retryAfterSeconds: number | undefined;
}): HttpHeaders => (seconds === undefined ? {} : { 'Retry-After': String(seconds) });
