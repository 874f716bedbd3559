// A plain reply onto the wire, with the headers that every reply of ours has.
import { TLSSocket } from 'node:tls';
import { discardRest, isAwaitingContinue } from './body.ts';
import type { Exchange } from './exchange.ts';
import type { CrossOrigin, HttpHeaders, HttpReply } from './route.ts';

const everyReply: HttpHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};
const ONE_YEAR_SECONDS = 31_536_000;

/** Headers of the reply win over ours. Throws, with nothing sent, when a header cannot be sent. */
export function sendReply({ request, response, head }: Exchange, reply: HttpReply, crossOrigin?: CrossOrigin): number {
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : (reply.body ?? Buffer.alloc(0));
  const mayHaveBody = reply.status >= 200 && reply.status !== 204 && reply.status !== 304;
  const headers = {
    ...everyReply,
    ...(request.socket instanceof TLSSocket && !isLocal(request.headers.host)
      ? { 'Strict-Transport-Security': `max-age=${ONE_YEAR_SECONDS}` }
      : {}),
    ...(crossOrigin === undefined ? {} : crossOriginHeaders(crossOrigin)),
    ...(mayHaveBody ? { 'Content-Length': String(body.length) } : {}),
    'X-Request-Id': head.requestId,
  };
  for (const [name, value] of [...Object.entries(headers), ...Object.entries(reply.headers ?? {})])
    response.setHeader(name, value);
  // Without `100 Continue` the client sends no body, but the parser waits for one: this connection cannot go on.
  if (!request.complete && isAwaitingContinue(request) && request.readableFlowing === null)
    response.setHeader('Connection', 'close');

  response.writeHead(reply.status);
  // To HEAD node:http leaves the body out by itself.
  response.end(mayHaveBody ? body : undefined);
  discardRest(request);
  return head.method === 'HEAD' ? 0 : body.length;
}

/** What a browser asks before it sends a request to another origin. */
export const preflightHeaders = (crossOrigin: CrossOrigin, allow: readonly string[]): HttpHeaders => ({
  'Access-Control-Allow-Methods': allow.join(', '),
  'Access-Control-Allow-Headers': crossOrigin.allowedHeaders.join(', '),
  'Access-Control-Max-Age': String(crossOrigin.maxAgeSeconds),
});

const crossOriginHeaders = ({ origin, exposedHeaders }: CrossOrigin): HttpHeaders => ({
  'Access-Control-Allow-Origin': origin,
  'Access-Control-Expose-Headers': exposedHeaders.join(', '),
});

// A browser would carry the rule to every other port of the developer's machine.
const isLocal = (host: string | undefined) => host === undefined || /^(?:[\w-]+\.)*localhost(?::\d+)?$/i.test(host);
