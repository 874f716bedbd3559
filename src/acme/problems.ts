// Errors at the ACME door as problem documents (RFC 8555 section 6.7): the kinds of the core and of the HTTP base in
// exhaustive tables, and the one place that renders them.
import { randomInt } from 'node:crypto';
import { AcmeError, type AcmeErrorType, type AcmeSubproblem, acmeErrorTypes } from '../core/acme-error.ts';
import { type ErrorKind, KeysUnavailable } from '../core/errors.ts';
import { refusalOf } from '../core/refusals.ts';
import type { Refusal, RefusalKind } from '../http/refusals.ts';
import type { HttpHeaders, HttpReply } from '../http/route.ts';

type Row = { readonly type: AcmeErrorType; readonly status: number };

const temporary: Row = { type: 'serverInternal', status: 503 };
const unexpected: Row = { type: 'serverInternal', status: 500 };

/** Those of resources that no ACME client changes are unexpected here. */
const coreProblems: Readonly<Record<ErrorKind, Row>> = {
  not_found: { type: 'malformed', status: 404 },
  unknown_cursor: { type: 'malformed', status: 400 },
  invalid: { type: 'malformed', status: 400 },
  unknown_reference: { type: 'malformed', status: 400 },
  immutable: { type: 'malformed', status: 400 },
  conflict: temporary,
  managed_by_kubernetes: { type: 'unauthorized', status: 403 },
  already_exists: unexpected,
  in_use: unexpected,
  slug_taken: unexpected,
  key_id_taken: unexpected,
  token_used: { type: 'unauthorized', status: 403 },
  key_reused: { type: 'badPublicKey', status: 400 },
  key_invalidated: { type: 'badPublicKey', status: 400 },
  key_not_valid: { type: 'unauthorized', status: 401 },
  duplicate_certificate: unexpected,
  // An operator mends it; a refusal would end a client's order for good (ERR-6).
  cannot_sign: temporary,
  not_revocable: { type: 'unauthorized', status: 403 },
  already_revoked: { type: 'alreadyRevoked', status: 400 },
  expired: { type: 'malformed', status: 400 },
  order_not_open: { type: 'orderNotReady', status: 403 },
  unavailable: temporary,
};

/** Where keys lie is nothing that an ACME client is told. */
const KEYS_AWAY = 'The CA cannot use its keys for the moment. Try again.';

/** Status, detail and headers are those of the refusal. */
const baseProblems: Readonly<Record<RefusalKind, AcmeErrorType>> = {
  malformed_request: 'malformed',
  malformed_path: 'malformed',
  incomplete_body: 'malformed',
  ambiguous_client: 'malformed',
  tls_expected: 'malformed',
  not_found: 'malformed',
  method_not_allowed: 'malformed',
  request_timeout: 'malformed',
  body_too_large: 'malformed',
  too_many_requests: 'rateLimited',
  headers_too_large: 'malformed',
  internal: 'serverInternal',
  overloaded: 'serverInternal',
  deadline_passed: 'serverInternal',
};

/** Undefined for what nobody expected. */
export function replyToError(error: unknown, requestId: string): HttpReply | undefined {
  if (error instanceof AcmeError) {
    const { type, status, message: detail, subproblems, members, headers } = error;
    return problemReply({ type, status, detail, subproblems, members, headers, requestId });
  }
  const refused = refusalOf(error);
  if (refused === undefined) return undefined;
  const detail = refused instanceof KeysUnavailable ? KEYS_AWAY : refused.message;
  return problemReply({ ...coreProblems[refused.kind], detail, requestId });
}

export const replyToRefusal = ({ kind, status, detail, headers }: Refusal, requestId: string | undefined): HttpReply =>
  problemReply({ type: baseProblems[kind], status, detail, headers, requestId });

/** A problem as the database keeps it: with the bare type. */
type StoredProblem = {
  readonly type: string;
  readonly detail: string;
  readonly status?: number;
  readonly subproblems?: readonly StoredProblem[];
  readonly identifier?: AcmeSubproblem['identifier'];
};

/** The `error` of an order or challenge. */
export const renderProblem = ({ type, detail, status = usualStatus(type), subproblems = [] }: StoredProblem) => ({
  ...renderSubproblem({ type, detail }),
  status,
  ...(subproblems.length > 0 && { subproblems: subproblems.map(renderSubproblem) }),
});

type Problem = Row & {
  readonly detail: string;
  readonly requestId: string | undefined;
  readonly subproblems?: readonly AcmeSubproblem[];
  readonly members?: Readonly<Record<string, unknown>>;
  readonly headers?: HttpHeaders;
};

function problemReply({ status, requestId, members, headers, ...problem }: Problem): HttpReply {
  const document = {
    ...renderProblem({ ...problem, status }),
    ...members,
    ...(status >= 500 && { requestId }),
  };
  return {
    status,
    headers: {
      'Content-Type': 'application/problem+json',
      'Content-Language': 'en',
      ...(status === 503 && retrySoon()),
      ...headers,
    },
    body: JSON.stringify(document),
  };
}

/** The identifier stands in subproblems only (ERR-3). */
const renderSubproblem = ({ type, detail, identifier }: StoredProblem) => ({
  type: `urn:ietf:params:acme:error:${type}`,
  detail: oneLine(detail),
  ...(identifier && { identifier: { type: identifier.type, value: identifier.value } }),
});

const usualStatus = (type: string): number =>
  Object.entries(acmeErrorTypes).find(([name]) => name === type)?.[1].status ?? unexpected.status;

// ERR-8: shell clients read the document line by line.
const oneLine = (text: string): string => text.replace(/\p{Cc}+/gu, ' ');

// Spread over some seconds, or all that were refused come back at once.
const retrySoon = (): HttpHeaders => ({ 'Retry-After': String(randomInt(1, 6)) });
