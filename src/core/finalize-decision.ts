// What the certificate of an order will say: every rule applied again, to the names that are to be signed (SEC-6, FIN-9).
import { type ProfileName, profileNames } from '../resources/fields.ts';
import { formatSeconds } from '../schema/timestamp.ts';
import type { FinalizeRow, OrderAuthorizationRow } from '../store/finalize.ts';
import { newSerial } from '../x509/certificate.ts';
import type { LeafFields } from '../x509/lint.ts';
import { AcmeError } from './acme-error.ts';
import { parseClientAddress } from './addresses.ts';
import type { Applicant } from './applicant.ts';
import { type CheckedCsr, requireSameNames } from './csr-checks.ts';
import { type Identifier, parseIdentifiers } from './identifiers.ts';
import { firstRefusal, type IssuanceRequest, type IssuerPolicy, issuanceChecks } from './issuance-policy.ts';
import { issuanceRefused } from './issuance-refusals.ts';
import type { Issuer } from './issuers.ts';
import { leafFields } from './leaf-certificate.ts';
import { compiledPolicy } from './policy-cache.ts';
import type { Urls } from './urls.ts';
import { certificateValidity } from './validity.ts';

export type Facts = {
  readonly row: FinalizeRow;
  /** With the directory in the version that the row names. */
  readonly applicant: Applicant;
  readonly csr: CheckedCsr;
  readonly now: Date;
};

/** What the row of an order does not say of its issuer. */
export type KnownIssuer = Pick<Issuer, 'constraints'> & Pick<IssuerPolicy, 'revokedAbove'>;
export type Approved = { readonly request: IssuanceRequest; readonly identifiers: readonly Identifier[] };

/** Throws `badCSR` where the names differ, `orderNotReady` where an authorization is missing, and as newOrder does. */
export function approve(facts: Facts, issuer: KnownIssuer): Approved {
  const { row, csr } = facts;
  const { identifiers, refusals } = parseIdentifiers(row.identifiers);
  requireSameNames(csr, identifiers);
  requireAuthorizations(facts, identifiers);
  const request = { ...requestOf(facts, issuer), identifiers, malformed: refusals };
  const refusal = firstRefusal(issuanceChecks, request);
  if (refusal !== undefined) throw issuanceRefused(refusal, request);
  return { request, identifiers };
}

/** All that the certificate says. The dates are those that newOrder saw, as long as nothing they hang on has changed. */
export function decideLeaf(
  urls: Urls,
  issuer: Issuer,
  { row, csr }: Facts,
  { request, identifiers }: Approved,
): LeafFields {
  const validity = certificateValidity(request);
  if (!validity.ok) throw new Error(`dates that were approved are refused: ${validity.refusal}`);
  const { spki, keyType, commonNames, mustStaple } = csr;
  return leafFields(urls, issuer, {
    ...validity.value,
    serial: newSerial(),
    profile: profileNamed(row.profile),
    identifiers,
    spki,
    keyType,
    commonNames,
    mustStaple,
  });
}

function requestOf(
  { row, applicant: { directory, clientAddress }, csr, now }: Facts,
  issuer: KnownIssuer,
): Omit<IssuanceRequest, 'identifiers' | 'malformed'> {
  const address = parseClientAddress(clientAddress);
  return {
    now,
    orderedAt: row.created_at,
    directory: compiledPolicy(directory),
    issuer: issuerPolicy(row, issuer),
    notBefore: row.not_before ?? undefined,
    notAfter: row.not_after ?? undefined,
    profile: row.profile,
    keyType: csr.keyType,
    clientAddress: address.ok ? address.value : 'not_given',
    accountState: row.account_state,
  };
}

const issuerPolicy = (row: FinalizeRow, { constraints, revokedAbove }: KnownIssuer): IssuerPolicy => ({
  name: row.issuer_name,
  state: row.issuer_state,
  deleted: row.issuer_deleted,
  certType: row.issuer_cert_type,
  keyAvailability: row.issuer_key_availability,
  notBefore: row.issuer_not_before ?? new Date(0),
  notAfter: row.issuer_not_after ?? new Date(0),
  revokedAbove,
  chain: constraints,
});

/** SEC-15: each identifier has an authorization for itself, compared and never derived. */
function requireAuthorizations({ row, now }: Facts, identifiers: readonly Identifier[]): void {
  const valid = new Map(row.authorizations.map((authorization) => [authorizedKey(authorization), authorization]));
  for (const identifier of identifiers) {
    const authorization = valid.get(identifierKey(identifier));
    const problem = authorization === undefined ? 'is missing' : authorizationProblem(authorization, row, now);
    if (problem !== undefined)
      throw new AcmeError('orderNotReady', `The authorization of ${identifier.value} ${problem}; order anew.`);
  }
}

function authorizationProblem(
  { state, expires_at, auto }: OrderAuthorizationRow,
  { order_validations }: FinalizeRow,
  now: Date,
): string | undefined {
  if (state !== 'valid') return `is ${state}`;
  if (expires_at <= now.getTime()) return `expired on ${formatSeconds(new Date(expires_at))}`;
  return auto && order_validations !== 'auto_approve'
    ? 'was given without a challenge, which this account now needs'
    : undefined;
}

export const identifierKey = (identifier: Identifier): string =>
  identifier.type === 'dns' ? `dns ${identifier.wildcard} ${identifier.name}` : `ip false ${identifier.value}`;

export const authorizedKey = ({ type, wildcard, value }: OrderAuthorizationRow): string =>
  `${type} ${wildcard} ${value}`;

function profileNamed(name: string): ProfileName {
  const known = profileNames.find((profile) => profile === name);
  if (known === undefined) throw new Error(`a profile that was approved is not known: ${name}`);
  return known;
}
