// One request and its answer while they are under way: who asks, under which id, until when.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { clientAddress, type Peer, type TrustedProxies } from './client-address.ts';
import { RefusedRequest, refusal } from './refusals.ts';
import { requestIdOf, traceIdOf } from './request-id.ts';
import type { HttpRequest } from './route.ts';

export type Exchange = {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly request: OpenRequest;
  readonly traceId: string | undefined;
  readonly startedAt: number;
  /** Set when the base already knows that it refuses. */
  readonly refused: RefusedRequest | undefined;
  /** Pattern of the matched row, for the log and metrics. */
  route: string;
  /** Methods that the path takes, where it does not take this one. */
  allow: readonly string[];
  bytes: number;
};

export const UNMATCHED = 'unmatched';
const MOST_HEADERS = 100;
const NO_BYTES = Buffer.alloc(0);

/** The reason of the signal when nobody waits for the answer any more. */
export class ClientGone extends Error {
  constructor() {
    super('The client closed the connection before it was answered.');
    this.name = 'ClientGone';
  }
}

/** What doors see of a request. What most of them do not ask for is made when one does. */
class OpenRequest implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly clientAddress: string;
  readonly requestId: string;
  params: Readonly<Record<string, string>> = {};
  body: Buffer = NO_BYTES;
  #aborting: AbortController | undefined;
  #query: URLSearchParams | undefined;

  constructor({ method = '', headers }: IncomingMessage, url: string, clientAddress: string) {
    this.method = method;
    this.url = url;
    this.path = pathOf(url);
    this.headers = headers;
    this.clientAddress = clientAddress;
    this.requestId = requestIdOf(headers);
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.url.slice(this.path.length + 1));
    return this.#query;
  }

  get signal(): AbortSignal {
    this.#aborting ??= new AbortController();
    return this.#aborting.signal;
  }

  abort(reason: Error): void {
    this.#aborting ??= new AbortController();
    this.#aborting.abort(reason);
  }
}

export function openExchange(
  incoming: IncomingMessage,
  response: ServerResponse,
  peer: Peer,
  trusted: TrustedProxies,
): Exchange {
  const url = originForm(incoming.url ?? '/');
  const client = clientAddress(peer, incoming.headers, trusted);
  return {
    incoming,
    response,
    request: new OpenRequest(incoming, url, client ?? peer.address),
    traceId: traceIdOf(incoming.headers),
    startedAt: performance.now(),
    refused: firstRefusal(incoming, url, client),
    route: UNMATCHED,
    allow: [],
    bytes: 0,
  };
}

function firstRefusal(incoming: IncomingMessage, url: string, client: string | undefined): RefusedRequest | undefined {
  if (incoming.rawHeaders.length > 2 * MOST_HEADERS) return new RefusedRequest(refusal('headers_too_large'));
  const hosts = countHosts(incoming.rawHeaders);
  if (hosts > 1 || (hosts === 0 && incoming.httpVersion === '1.1'))
    return new RefusedRequest(
      refusal('malformed_request', { detail: 'An HTTP/1.1 request must have a Host header, and only one.' }),
    );
  if (client === undefined) return new RefusedRequest(refusal('ambiguous_client'));
  return isDecodable(url) ? undefined : new RefusedRequest(refusal('malformed_path'));
}

function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === HOST.length && name.toLowerCase() === HOST) hosts++;
  }
  return hosts;
}

const HOST = 'host';

// `GET https://ca.example/path HTTP/1.1` asks for `/path` (RFC 9112 section 3.2.2).
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const rest = target.replace(/^https?:\/\/[^/?#]*/i, '');
  return rest.startsWith('/') || rest === '*' ? rest : `/${rest}`;
}

/** RFC 9112 section 3.2: no fragment. */
function isDecodable(url: string): boolean {
  if (url.includes('#')) return false;
  if (!url.includes('%')) return true;
  try {
    decodeURIComponent(pathOf(url));
    return true;
  } catch {
    return false;
  }
}

function pathOf(url: string): string {
  const at = url.indexOf('?');
  return at === -1 ? url : url.slice(0, at);
}
