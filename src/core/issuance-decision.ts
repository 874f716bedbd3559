// Whether an ACME client gets what it asks for: the checks of issuance-policy.ts over the rows that its request was read with.
import { quoted } from '../schema/field-problem.ts';
import { parseTimestamp } from '../schema/timestamp.ts';
import { AcmeError } from './acme-error.ts';
import { type Address, parseClientAddress } from './addresses.ts';
import type { Applicant } from './applicant.ts';
import type { Ca } from './ca.ts';
import { seenIssuerOf } from './directory-issuer.ts';
import { type Identifier, type ParsedIdentifiers, parseIdentifiers, type RawIdentifier } from './identifiers.ts';
import { firstRefusal, type IssuanceRequest, issuanceChecks, type NotGiven } from './issuance-policy.ts';
import { issuanceRefused } from './issuance-refusals.ts';
import { issuanceRequest } from './issuance-request.ts';

/** As the client wrote it. */
export type Wish = {
  readonly identifiers: readonly RawIdentifier[];
  readonly notBefore?: string | undefined;
  readonly notAfter?: string | undefined;
  readonly profile?: string | undefined;
};

export type Granted = {
  readonly now: Date;
  readonly identifiers: readonly Identifier[];
  readonly written: ParsedIdentifiers['written'];
  readonly notBefore: Date | undefined;
  readonly notAfter: Date | undefined;
  /** Of the directory's where none was asked for (PRF-1). */
  readonly profile: string;
  /** Of the CA cert that was decided about. */
  readonly issuerVersion: number;
};

/** Throws the AcmeError of the first rule that refuses. */
export async function decideIssuance(ca: Ca, applicant: Applicant, wish: Wish): Promise<Granted> {
  const { directory, account } = applicant;
  const now = ca.clock.now();
  const parsed = parseIdentifiers(wish.identifiers);
  const { issuer, issuerVersion } = await seenIssuerOf(ca.database.db, directory);
  const request = issuanceRequest(
    directory,
    issuer,
    {
      parsed,
      notBefore: dateOf('notBefore', wish, applicant),
      notAfter: dateOf('notAfter', wish, applicant),
      profile: wish.profile === '' ? undefined : wish.profile, // ORD-29
    },
    { now, keyType: 'not_given', clientAddress: addressOf(applicant), accountState: account.state },
  );
  const refusal = firstRefusal(issuanceChecks, request);
  if (refusal !== undefined) throw issuanceRefused(refusal, request);
  const { notBefore, notAfter } = request;
  return { now, ...parsed, notBefore, notAfter, profile: profileOf(request), issuerVersion };
}

/** ORD-15, ORD-18. */
function dateOf(field: 'notBefore' | 'notAfter', wish: Wish, { directory }: Applicant): Date | undefined {
  const text = wish[field];
  if (text === undefined) return undefined;
  const date = parseTimestamp(text);
  if (date !== undefined) return date;
  const { slug, cert_min_days: least, cert_max_days: most } = directory;
  throw new AcmeError(
    'malformed',
    `${field} ${quoted(text, 60)} is not a time with its zone as RFC 3339 writes it, such as 2026-05-17T12:00:00Z; ` +
      `directory ${slug} allows ${least} to ${most} days from notBefore to notAfter.`,
  );
}

/** The door has admitted the client; one whose address nobody can read is admitted where no list says who is. */
function addressOf({ clientAddress }: Applicant): Address | NotGiven {
  const address = parseClientAddress(clientAddress);
  return address.ok ? address.value : 'not_given';
}

function profileOf({ profile, directory }: IssuanceRequest): string {
  const chosen = profile ?? directory.profiles[0];
  if (chosen === undefined) throw new Error(`Directory ${directory.name} has no profiles.`);
  return chosen;
}
