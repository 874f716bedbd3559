// Refusals in the words of RFC 8555: the error types that ACME clients know, and what every problem document is made of.
import type { RawIdentifier } from './identifiers.ts';

/** Registered at IANA (RFC 8555 section 9.7.4, RFC 9773, the profiles draft); the status is the usual one. */
export const acmeErrorTypes = {
  accountDoesNotExist: { status: 400, meaning: 'There is no account of this key, or at this URL.' },
  alreadyReplaced: { status: 409, meaning: 'The certificate to replace has a replacement.' },
  alreadyRevoked: { status: 400, meaning: 'The certificate is revoked already.' },
  badCSR: { status: 400, meaning: 'The CSR is not acceptable.' },
  badNonce: { status: 400, meaning: 'The anti-replay nonce is unknown, used or too old.' },
  badPublicKey: { status: 400, meaning: 'The key is of a type or strength that is not accepted, or is withdrawn.' },
  badRevocationReason: { status: 400, meaning: 'The reason for the revocation is not allowed.' },
  badSignatureAlgorithm: { status: 400, meaning: 'The JWS is signed with an algorithm that is not supported.' },
  caa: { status: 403, meaning: 'CAA records forbid this CA to issue.' },
  compound: { status: 403, meaning: 'Several things are wrong; the subproblems say which.' },
  connection: { status: 400, meaning: 'The server could not be reached to validate the identifier.' },
  dns: { status: 400, meaning: 'A DNS look-up for the validation failed.' },
  externalAccountRequired: { status: 403, meaning: 'An account needs an external account binding.' },
  incorrectResponse: { status: 403, meaning: 'What was found does not fit the challenge.' },
  invalidContact: { status: 400, meaning: 'A contact URL is not valid.' },
  invalidProfile: { status: 400, meaning: 'The profile is not offered.' },
  malformed: { status: 400, meaning: 'The request is malformed.' },
  orderNotReady: { status: 403, meaning: 'The order is not ready to be finalized.' },
  rateLimited: { status: 429, meaning: 'A limit of this CA is reached.' },
  rejectedIdentifier: { status: 403, meaning: 'The CA does not issue for the identifier.' },
  serverInternal: { status: 500, meaning: 'Something went wrong inside the server.' },
  tls: { status: 400, meaning: 'A TLS connection for the validation failed.' },
  unauthorized: { status: 403, meaning: 'The client is not allowed to do this.' },
  unsupportedContact: { status: 400, meaning: 'A contact URL has a scheme that is not supported.' },
  unsupportedIdentifier: { status: 400, meaning: 'An identifier is of a type that is not supported.' },
  userActionRequired: { status: 403, meaning: 'A person has to do something first.' },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly meaning: string }>>;

export type AcmeErrorType = keyof typeof acmeErrorTypes;

export type AcmeSubproblem = {
  readonly type: AcmeErrorType;
  readonly detail: string;
  readonly identifier?: RawIdentifier;
};

type Options = {
  /** Where it is not the usual one of the type. */
  readonly status?: number;
  readonly subproblems?: readonly AcmeSubproblem[];
  /** Members of the problem document beyond those of RFC 8555, such as `algorithms`. */
  readonly members?: Readonly<Record<string, readonly string[]>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
};

/** A refusal that an ACME client is told of. What /v1 can hear too is a CaError. */
export class AcmeError extends Error {
  readonly type: AcmeErrorType;
  readonly status: number;
  readonly subproblems: readonly AcmeSubproblem[];
  readonly members: Readonly<Record<string, readonly string[]>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    type: AcmeErrorType,
    detail: string,
    { status, subproblems = [], members = {}, headers = {}, cause }: Options = {},
  ) {
    super(detail, { cause });
    this.name = 'AcmeError';
    this.type = type;
    this.status = status ?? acmeErrorTypes[type].status;
    this.subproblems = subproblems;
    this.members = members;
    this.headers = headers;
  }
}
