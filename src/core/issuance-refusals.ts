// What an ACME client is told when a rule of issuance-policy.ts refuses: one error of RFC 8555 for each rule.
import { AcmeError, type AcmeErrorType } from './acme-error.ts';
import type { RawIdentifier } from './identifiers.ts';
import type { IssuanceRequest, IssuanceRule, Refusal } from './issuance-policy.ts';

type Answer = {
  readonly type: AcmeErrorType;
  /** Where it is not the usual one of the type. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * The CA cert, and not the client, is at fault, and an operator gives the directory another one: so the same request may
 * succeed later, and clients that take 4xx for final have to hear 503 (ERR-6, G-26).
 */
const withoutIssuer: Answer = { type: 'serverInternal', status: 503, headers: { 'Retry-After': '300' } };

const answers: Readonly<Record<IssuanceRule, Answer>> = {
  directory_active: { type: 'malformed', status: 404 },
  client_address: { type: 'unauthorized' },
  account_state: { type: 'unauthorized', status: 401 }, // ACC-11
  identifier_syntax: { type: 'malformed' },
  issuer_usable: withoutIssuer,
  profile: { type: 'invalidProfile' }, // PRF-1
  names_allowed: { type: 'rejectedIdentifier' }, // ERR-5
  addresses_allowed: { type: 'rejectedIdentifier' },
  name_constraints: { type: 'rejectedIdentifier' },
  key_type: { type: 'badCSR' },
  validity: { type: 'malformed' }, // ORD-15
};

type Asked = Pick<IssuanceRequest, 'notBefore' | 'notAfter'>;

/** The refusal of an order, with a subproblem for each identifier that is refused (ERR-2). */
export function issuanceRefused(refusal: Refusal, asked: Asked): AcmeError {
  const subproblems = refusal.subproblems.map(({ rule, identifier, detail }) => ({
    type: typeOf(rule, identifier),
    detail,
    identifier,
  }));
  const { type, ...options } = answerTo(refusal, asked);
  return new AcmeError(type, refusal.detail, { ...options, subproblems });
}

function answerTo({ rule, subproblems }: Refusal, { notBefore, notAfter }: Asked): Answer {
  // Nobody asked for dates, so the directory and its CA cert leave no room for any.
  if (rule === 'validity' && notBefore === undefined && notAfter === undefined) return withoutIssuer;
  const syntax = subproblems.filter((subproblem) => subproblem.rule === 'identifier_syntax');
  const isUnsupported =
    rule === 'identifier_syntax' &&
    syntax.length > 0 &&
    syntax.every(({ identifier }) => typeOf(rule, identifier) === 'unsupportedIdentifier');
  return isUnsupported ? { type: 'unsupportedIdentifier' } : answers[rule];
}

/** Whoever has a type that we know was refused for its value. */
const typeOf = (rule: IssuanceRule, { type }: RawIdentifier): AcmeErrorType =>
  rule === 'identifier_syntax' && type !== 'dns' && type !== 'ip' ? 'unsupportedIdentifier' : answers[rule].type;
