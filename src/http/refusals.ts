// What the base refuses by itself, whatever door the request came to: one row per kind.
import { randomInt } from 'node:crypto';
import type { HttpHeaders } from './route.ts';

type Row = { readonly status: number; readonly detail: string };

const rows = {
  malformed_request: { status: 400, detail: 'The request is not well-formed HTTP/1.1.' },
  malformed_path: {
    status: 400,
    detail: 'The path holds "#", or a percent sign that does not begin an encoded UTF-8 character.',
  },
  incomplete_body: { status: 400, detail: 'The body ended before the length that was announced.' },
  ambiguous_client: {
    status: 400,
    detail:
      'X-Forwarded-For and Forwarded name different clients. The proxy in front must remove the one that it does not set.',
  },
  tls_expected: { status: 400, detail: 'This port speaks HTTPS; use a URL that begins with https://.' },
  not_found: { status: 404, detail: 'Nothing is at this path.' },
  method_not_allowed: {
    status: 405,
    detail: 'This path does not take this method; the Allow header names those it takes.',
  },
  request_timeout: { status: 408, detail: 'The request did not arrive in time.' },
  body_too_large: { status: 413, detail: 'The body is larger than this path takes.' },
  too_many_requests: {
    status: 429,
    detail: 'More requests come from this address than this server takes. Try again after the time in Retry-After.',
  },
  headers_too_large: { status: 431, detail: 'The headers are larger than this server takes.' },
  internal: { status: 500, detail: 'Something went wrong inside the server. The request id finds it in the log.' },
  overloaded: {
    status: 503,
    detail: 'The server has all the work it can do. Try again after the time in Retry-After.',
  },
  deadline_passed: { status: 503, detail: 'The answer took too long. Try again after the time in Retry-After.' },
} satisfies Record<string, Row>;

export type RefusalKind = keyof typeof rows;

export type Refusal = {
  readonly kind: RefusalKind;
  readonly status: number;
  readonly detail: string;
  /** Those that belong to the status, whatever the door makes of the rest. */
  readonly headers: HttpHeaders;
};

type More = {
  readonly detail?: string;
  readonly allow?: readonly string[];
  readonly retryAfterSeconds?: number;
};

export function refusal(kind: RefusalKind, more: More = {}): Refusal {
  const { status, detail } = rows[kind];
  return {
    kind,
    status,
    detail: more.detail ?? detail,
    headers: {
      ...(more.allow === undefined ? {} : { Allow: more.allow.join(', ') }),
      // Spread over some seconds, or all that were refused come back at once.
      ...(status === 503 ? { 'Retry-After': String(randomInt(1, 6)) } : {}),
      ...(more.retryAfterSeconds === undefined ? {} : { 'Retry-After': String(more.retryAfterSeconds) }),
    },
  };
}

/** Thrown by the base's own steps to answer with a refusal. */
export class RefusedRequest extends Error {
  readonly refusal: Refusal;

  constructor(refused: Refusal) {
    super(refused.detail);
    this.name = 'RefusedRequest';
    this.refusal = refused;
  }
}
