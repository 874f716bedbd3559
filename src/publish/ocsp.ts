// /ocsp: the status of certificates by RFC 6960, in the lightweight profile of RFC 5019. Whatever comes is answered by 200
// and an OCSP answer: clients understand nothing else.
import { parseId } from '../core/ids.ts';
import { answerOcsp, type OcspAnswer } from '../core/ocsp.ts';
import type { HttpReply, HttpRequest } from '../http/route.ts';
import { isKnown } from './file.ts';
import type { PublishRoute } from './route.ts';

const BODY_CAP_BYTES = 16_384;
/** So that a revocation is seen behind caches soon. */
const FRESH_SECONDS = 300;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export const ocspRoutes: readonly PublishRoute[] = [
  {
    method: 'POST',
    path: '/ocsp/:id',
    bodyCapBytes: BODY_CAP_BYTES,
    handle: async (ca, { params, body }) =>
      reply(await answerOcsp(ca, parseId('scrt', params.id ?? ''), body), ca.clock.now()),
  },
  {
    method: 'GET',
    path: '/ocsp/:id/*request',
    handle: async (ca, request) => {
      const { id = '', request: encoded = '' } = request.params;
      return cached(await answerOcsp(ca, parseId('scrt', id), requestIn(encoded)), request, ca.clock.now());
    },
  },
];

/**
 * The bytes of a request in a path; none where there is no base64. Clients put a slash too many before it, leave the
 * padding out, or write `+` as forms do.
 */
function requestIn(encoded: string): Buffer {
  const text = encoded.replace(/^\/+/, '').replaceAll(' ', '+');
  return BASE64.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
}

function cached(answer: OcspAnswer, { headers }: HttpRequest, now: Date): HttpReply {
  const whole = reply(answer, now);
  const { kept } = answer;
  const validators = kept && { tag: kept.tag, lastModified: kept.thisUpdate };
  if (validators === undefined || !isKnown(validators, headers['if-none-match'], headers['if-modified-since']))
    return whole;
  return { status: 304, headers: whole.headers ?? {} };
}

/** RFC 5019 section 6.2. */
function reply({ der, kept }: OcspAnswer, now: Date): HttpReply {
  const mediaType = { 'Content-Type': 'application/ocsp-response' };
  if (kept === undefined) return { status: 200, headers: { ...mediaType, 'Cache-Control': 'no-store' }, body: der };
  const remaining = Math.floor((kept.nextUpdate.getTime() - now.getTime()) / 1000);
  const headers = {
    ...mediaType,
    'Cache-Control': `public, max-age=${Math.max(0, Math.min(FRESH_SECONDS, remaining))}, no-transform, must-revalidate`,
    ETag: `"${kept.tag}"`,
    'Last-Modified': kept.thisUpdate.toUTCString(),
    Expires: kept.nextUpdate.toUTCString(),
  };
  return { status: 200, headers, body: der };
}
