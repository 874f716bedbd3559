// One request and its answer while they are under way: who asks, under which id, until when.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { clientAddress, type TrustedProxies } from './client-address.ts';
import { RefusedRequest, refusal } from './refusals.ts';
import { requestIdOf, traceIdOf } from './request-id.ts';
import type { HttpHead } from './route.ts';

export type Exchange = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly head: HttpHead;
  readonly traceId: string | undefined;
  readonly startedAt: number;
  readonly abort: (reason: Error) => void;
  /** Set when the base already knows that it refuses. */
  readonly refused: RefusedRequest | undefined;
  /** Pattern of the matched row, for the log and metrics. */
  route: string;
  /** Methods of the rows that match the path. */
  readonly allow: Set<string>;
  bytes: number;
};

const UNMATCHED = 'unmatched';
const MOST_HEADERS = 100;

/** The reason of the signal when nobody waits for the answer any more. */
export class ClientGone extends Error {
  constructor() {
    super('The client closed the connection before it was answered.');
    this.name = 'ClientGone';
  }
}

export function openExchange(request: IncomingMessage, response: ServerResponse, trusted: TrustedProxies): Exchange {
  const url = originForm(request.url ?? '/');
  const [path = '', query = ''] = splitOnce(url, '?');
  const peer = request.socket.remoteAddress ?? '';
  const client = clientAddress(peer, request.headers, trusted);
  const controller = new AbortController();
  response.on('close', () => {
    if (!response.writableFinished) controller.abort(new ClientGone());
  });
  return {
    request,
    response,
    head: {
      method: request.method ?? '',
      url,
      path,
      params: {},
      query: new URLSearchParams(query),
      headers: request.headers,
      clientAddress: client ?? peer,
      requestId: requestIdOf(request.headers),
      signal: controller.signal,
    },
    traceId: traceIdOf(request.headers),
    startedAt: performance.now(),
    abort: (reason) => controller.abort(reason),
    refused: firstRefusal(request, url, client),
    route: UNMATCHED,
    allow: new Set(),
    bytes: 0,
  };
}

function firstRefusal(request: IncomingMessage, url: string, client: string | undefined): RefusedRequest | undefined {
  if (request.rawHeaders.length > 2 * MOST_HEADERS) return new RefusedRequest(refusal('headers_too_large'));
  const hosts = request.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1 || (hosts === 0 && request.httpVersion === '1.1'))
    return new RefusedRequest(
      refusal('malformed_request', { detail: 'An HTTP/1.1 request must have a Host header, and only one.' }),
    );
  if (client === undefined) return new RefusedRequest(refusal('ambiguous_client'));
  return isDecodable(url) ? undefined : new RefusedRequest(refusal('malformed_path'));
}

// `GET https://ca.example/path HTTP/1.1` asks for `/path` (RFC 9112 section 3.2.2).
function originForm(target: string): string {
  const rest = target.replace(/^https?:\/\/[^/?#]*/i, '');
  return rest.startsWith('/') || rest === '*' ? rest : `/${rest}`;
}

/** RFC 9112 section 3.2: no fragment. Express would match the path before it, which is not the one that we log and compare. */
function isDecodable(url: string): boolean {
  if (url.includes('#')) return false;
  const [path] = splitOnce(url, '?');
  if (!path.includes('%')) return true;
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
