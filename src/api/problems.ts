// Errors of /v1 as problem documents (RFC 9457): one row per kind, and the one place that renders them.
import { randomInt } from 'node:crypto';
import type { ErrorKind } from '../core/errors.ts';
import { detailOf } from '../core/field-problems.ts';
import { refusalOf } from '../core/refusals.ts';
import type { Refusal, RefusalKind } from '../http/refusals.ts';
import type { HttpHeaders, HttpReply } from '../http/route.ts';
import type { FieldProblem } from '../schema/validator.ts';

type Row = { readonly status: number; readonly title: string };

/** The kind is the `code` that callers may rely on. */
export const coreProblems: Readonly<Record<ErrorKind, Row>> = {
  not_found: { status: 404, title: 'Not found' },
  unknown_cursor: { status: 400, title: 'Unknown cursor' },
  invalid: { status: 422, title: 'Invalid field' },
  unknown_reference: { status: 422, title: 'Unknown reference' },
  immutable: { status: 422, title: 'Field never changes' },
  conflict: { status: 422, title: 'Changed by somebody else' },
  managed_by_kubernetes: { status: 422, title: 'Managed by Kubernetes' },
  already_exists: { status: 422, title: 'Already exists' },
  in_use: { status: 422, title: 'In use' },
  slug_taken: { status: 422, title: 'Slug taken' },
  key_id_taken: { status: 422, title: 'Key id taken' },
  token_used: { status: 422, title: 'EAB token used' },
  key_reused: { status: 422, title: 'Key reused' },
  key_invalidated: { status: 422, title: 'Key invalidated' },
  key_not_valid: { status: 422, title: 'Account key not valid' },
  duplicate_certificate: { status: 422, title: 'Duplicate certificate' },
  cannot_sign: { status: 422, title: 'CA cert cannot sign' },
  not_revocable: { status: 422, title: 'CA cert not revocable' },
  already_revoked: { status: 422, title: 'Revoked already' },
  expired: { status: 422, title: 'Expired' },
  order_not_open: { status: 422, title: 'Order not open' },
  unavailable: { status: 503, title: 'Unavailable' },
};

/** `meaning` is for the page of documents, as errorKinds has it for those of the core. */
type ExplainedRow = Row & { readonly meaning: string };

/** What this door refuses before the core is asked. */
export const doorProblems = {
  invalid_query: {
    status: 400,
    title: 'Invalid query',
    meaning: 'The query string has parameters that are wrong or missing.',
  },
  malformed_json: {
    status: 400,
    title: 'Malformed JSON',
    meaning: 'The body is no JSON, or JSON that two parsers may read differently.',
  },
  missing_credential: { status: 401, title: 'Missing credential', meaning: 'No Authorization: Bearer <token> came.' },
  invalid_credential: {
    status: 401,
    title: 'Invalid credential',
    meaning: 'The token is unknown, expired or revoked.',
  },
  permission_denied: {
    status: 403,
    title: 'Permission denied',
    meaning: 'The credential has a lower permission than this needs.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'The body is not sent as plain application/json.',
  },
} as const satisfies Readonly<Record<string, ExplainedRow>>;

/** What the HTTP base refuses; status, detail and headers of a reply are its own. */
export const baseProblems: Readonly<Record<RefusalKind, ExplainedRow>> = {
  malformed_request: { status: 400, title: 'Malformed request', meaning: 'The request is not well-formed HTTP/1.1.' },
  malformed_path: { status: 400, title: 'Malformed path', meaning: 'The path is not well-formed.' },
  incomplete_body: { status: 400, title: 'Incomplete body', meaning: 'The body ended before its announced length.' },
  ambiguous_client: {
    status: 400,
    title: 'Ambiguous client address',
    meaning: 'The proxy in front names two different clients.',
  },
  tls_expected: { status: 400, title: 'HTTPS expected', meaning: 'Plain HTTP came to a port that speaks HTTPS.' },
  not_found: { status: 404, title: 'Not found', meaning: 'Nothing is at this path.' },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path does not take this method; Allow names those it takes.',
  },
  request_timeout: { status: 408, title: 'Request timeout', meaning: 'The request did not arrive in time.' },
  body_too_large: { status: 413, title: 'Body too large', meaning: 'The body is larger than this path takes.' },
  too_many_requests: {
    status: 429,
    title: 'Too many requests',
    meaning: 'More requests come from one address than the server takes; try again after Retry-After.',
  },
  headers_too_large: {
    status: 431,
    title: 'Headers too large',
    meaning: 'The headers are larger than this server takes.',
  },
  internal: {
    status: 500,
    title: 'Internal error',
    meaning: 'A bug of the service; the log holds it under the request id.',
  },
  overloaded: {
    status: 503,
    title: 'Overloaded',
    meaning: 'The server has all the work it can do; try again after Retry-After.',
  },
  deadline_passed: {
    status: 503,
    title: 'Deadline passed',
    meaning: 'The answer took too long; try again after Retry-After.',
  },
};

type DoorProblem = keyof typeof doorProblems;

type RefusalOptions = { readonly problems?: readonly FieldProblem[]; readonly headers?: HttpHeaders };

/** A refusal of this door itself. */
export class ApiRefusal extends Error {
  readonly kind: DoorProblem;
  readonly problems: readonly FieldProblem[];
  readonly headers: HttpHeaders;

  constructor(kind: DoorProblem, detail: string, { problems = [], headers = {} }: RefusalOptions = {}) {
    super(detail);
    this.name = 'ApiRefusal';
    this.kind = kind;
    this.problems = problems;
    this.headers = headers;
  }
}

/** Undefined for what nobody expected. Fields of the core stand inside `wrapper` in the caller's body. */
export function replyToError(error: unknown, requestId: string, wrapper?: string): HttpReply | undefined {
  if (error instanceof ApiRefusal) {
    const { kind, message, problems, headers } = error;
    return problemReply({ code: kind, ...doorProblems[kind], detail: message, requestId, problems, headers });
  }
  const refused = refusalOf(error);
  if (refused === undefined) return undefined;
  const { kind, message } = refused;
  const problems = refused.problems.map((problem) => ({ ...problem, field: inside(wrapper, problem.field) }));
  const headers = coreProblems[kind].status === 503 ? retrySoon() : {};
  // A detail that is made of the fields names them as the caller wrote them, too.
  const detail = message === detailOf(refused.problems) ? detailOf(problems) : message;
  return problemReply({ code: kind, ...coreProblems[kind], detail, requestId, problems, headers });
}

export const replyToRefusal = ({ kind, status, detail, headers }: Refusal, requestId: string | undefined): HttpReply =>
  problemReply({ code: kind, status, title: baseProblems[kind].title, detail, requestId, problems: [], headers });

type Problem = Row & {
  readonly code: string;
  readonly detail: string;
  readonly requestId: string | undefined;
  readonly problems: readonly FieldProblem[];
  readonly headers: HttpHeaders;
};

const problemReply = ({ code, status, title, detail, requestId, problems, headers }: Problem): HttpReply => ({
  status,
  headers: { 'Content-Type': 'application/problem+json', 'Content-Language': 'en', ...headers },
  body: JSON.stringify({
    type: `/v1/docs#${code}`,
    title,
    status,
    detail,
    code,
    request_id: requestId ?? null,
    errors: problems,
  }),
});

const inside = (wrapper: string | undefined, field: string) => (wrapper === undefined ? field : `${wrapper}.${field}`);

// Spread over some seconds, or all that were refused come back at once.
const retrySoon = (): HttpHeaders => ({ 'Retry-After': String(randomInt(1, 6)) });
