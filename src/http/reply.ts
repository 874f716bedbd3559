// A plain reply onto the wire, with the headers that every reply of ours has.
import { TLSSocket } from 'node:tls';
import { discardRest, isAwaitingContinue } from './body.ts';
import type { Exchange } from './exchange.ts';
import type { CrossOrigin, HttpHeaders, HttpReply } from './route.ts';

const everyReply = {
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};
const ONE_YEAR_SECONDS = 31_536_000;

type CommonHeader = {
  readonly name: string;
  readonly value: string;
  /** The name as it is compared. */
  readonly key: string;
};
export type CommonHeaders = readonly CommonHeader[];

const common = (name: string, value: string): CommonHeader => ({ name, value, key: name.toLowerCase() });
const transportSecurity = common('Strict-Transport-Security', `max-age=${ONE_YEAR_SECONDS}`);

/** Those of every reply of a door. */
export const commonHeaders = (crossOrigin: CrossOrigin | undefined): CommonHeaders =>
  Object.entries({
    ...everyReply,
    ...(crossOrigin && {
      'Access-Control-Allow-Origin': crossOrigin.origin,
      'Access-Control-Expose-Headers': crossOrigin.exposedHeaders.join(', '),
    }),
  }).map(([name, value]) => common(name, value));

/** Headers of the reply win over ours. Throws, with nothing sent, when a header cannot be sent. */
export function sendReply(
  { incoming, response, request }: Exchange,
  reply: HttpReply,
  everyones: CommonHeaders,
): number {
  const { status, body = '', headers = {} } = reply;
  const mayHaveBody = status >= 200 && status !== 204 && status !== 304;
  const size = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  // One flat list, checked and written at once: header by header node:http would keep a table of them.
  const lines: string[] = [];
  const own = Object.keys(headers);
  for (const header of everyones) addUnless(own, header, lines);
  if (incoming.socket instanceof TLSSocket && !isLocal(incoming.headers.host)) addUnless(own, transportSecurity, lines);
  if (mayHaveBody) lines.push('Content-Length', String(size));
  lines.push('X-Request-Id', request.requestId);
  for (const name of own) {
    const value = headers[name] ?? [];
    if (typeof value === 'string') lines.push(name, value);
    else for (const line of value) lines.push(name, line);
  }
  // Without `100 Continue` the client sends no body, but the parser waits for one: this connection cannot go on.
  if (!incoming.complete && isAwaitingContinue(incoming) && incoming.readableFlowing === null)
    lines.push('Connection', 'close');

  response.writeHead(status, lines);
  // To HEAD node:http leaves the body out by itself.
  if (!mayHaveBody) response.end();
  else if (typeof body !== 'string') response.end(body);
  // ASCII goes out behind the head as it is, in one piece; the head must not become UTF-8.
  else if (body.length === size) response.end(body, 'latin1');
  else response.end(Buffer.from(body));
  discardRest(incoming);
  return request.method === 'HEAD' ? 0 : size;
}

function addUnless(own: readonly string[], { name, value, key }: CommonHeader, lines: string[]): void {
  for (const one of own) if (one.length === key.length && one.toLowerCase() === key) return;
  lines.push(name, value);
}

/** What a browser asks before it sends a request to another origin. */
export const preflightHeaders = (crossOrigin: CrossOrigin, allow: readonly string[]): HttpHeaders => ({
  'Access-Control-Allow-Methods': allow.join(', '),
  'Access-Control-Allow-Headers': crossOrigin.allowedHeaders.join(', '),
  'Access-Control-Max-Age': String(crossOrigin.maxAgeSeconds),
});

// A browser would carry the rule to every other port of the developer's machine.
const isLocal = (host: string | undefined) => host === undefined || /^(?:[\w-]+\.)*localhost(?::\d+)?$/i.test(host);
