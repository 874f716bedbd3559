// The plain requests and replies that doors work with, and what a door tells the base about itself.
import type { IncomingHttpHeaders } from 'node:http';
import type { LogLevel } from '../telemetry/log.ts';
import type { Refusal } from './refusals.ts';

/** What is known before the body is read. */
export type HttpHead = {
  readonly method: string;
  /** Path and query, byte for byte as sent: what a JWS `url` is compared with. */
  readonly url: string;
  /** The path as sent, without the query. */
  readonly path: string;
  /** Decoded values of the `:names` in the route's path. */
  readonly params: Readonly<Record<string, string>>;
  /** `getAll` and `keys` show repeated parameters. */
  readonly query: URLSearchParams;
  /** Lower-case names. */
  readonly headers: IncomingHttpHeaders;
  /** Of the client itself, where a trusted proxy stands between. */
  readonly clientAddress: string;
  readonly requestId: string;
  /** Aborts when the client goes away or the time for the answer is over. */
  readonly signal: AbortSignal;
};

export type HttpRequest = HttpHead & {
  /** The bytes as sent; empty where there was no body, or where the route takes none. */
  readonly body: Buffer;
};

/** Lists become one header line each. */
export type HttpHeaders = Readonly<Record<string, string | readonly string[]>>;

export type HttpReply = {
  readonly status: number;
  readonly headers?: HttpHeaders;
  readonly body?: string | Buffer;
};

export type Answer = (request: HttpRequest) => HttpReply | Promise<HttpReply>;

export type HttpRoute = {
  /** `GET` answers HEAD too, without the body, unless the path has a HEAD row of its own. */
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `/acme/:slug/order/:id`; exact in case and trailing slash. */
  readonly path: string;
  /** When absent: none for GET and HEAD, else the door's. 0: a body is ignored. */
  readonly bodyCapBytes?: number;
  /** When absent: the door's. */
  readonly deadlineMs?: number;
  /** Looks at the head alone, before a byte of the body is read; throws to refuse, gives what answers the request. */
  readonly admit: (head: HttpHead) => Answer | Promise<Answer>;
};

/** Answers to other origins (Fetch standard, CORS protocol). */
export type CrossOrigin = {
  readonly origin: string;
  readonly exposedHeaders: readonly string[];
  readonly allowedHeaders: readonly string[];
  readonly maxAgeSeconds: number;
};

/** One listener's worth of routes, and how everything that is refused looks there. */
export type Door = {
  readonly name: string;
  readonly routes: readonly HttpRoute[];
  readonly bodyCapBytes: number;
  readonly deadlineMs: number;
  /** Level of the access line of a request that went well. */
  readonly accessLevel: LogLevel;
  /** Where to look instead, for who asks for a path that is not there. */
  readonly signpost?: string;
  /** The reply to what the base itself refuses. `requestId` is absent where bytes came that are no request. */
  readonly refuse: (refusal: Refusal, requestId: string | undefined) => HttpReply;
  /** The reply to an error that a route expects; undefined for all others, which become an internal error. */
  readonly replyTo: (error: unknown, head: HttpHead) => HttpReply | undefined;
  /**
   * The last word on every reply, those to refused requests included: headers such as Replay-Nonce and Link. Only the
   * answer to bytes that are no request goes without. When it fails, the reply is sent as it is.
   */
  readonly finish?: (reply: HttpReply, head: HttpHead) => HttpReply | Promise<HttpReply>;
  readonly crossOrigin?: CrossOrigin;
};
