// What the checks of issuance-policy.ts decide about, put together: the same for a real order and for a supposed one.
import type { DirectoryRow } from '../store/directories.ts';
import type { ParsedIdentifiers } from './identifiers.ts';
import type { IssuanceRequest, IssuerPolicy } from './issuance-policy.ts';
import { compiledPolicy } from './policy-cache.ts';

export type AskedFor = Pick<IssuanceRequest, 'notBefore' | 'notAfter' | 'profile'> & {
  readonly parsed: ParsedIdentifiers;
};

/** An order that is made now. */
export function issuanceRequest(
  directory: DirectoryRow,
  issuer: IssuerPolicy,
  { parsed, notBefore, notAfter, profile }: AskedFor,
  given: Pick<IssuanceRequest, 'now' | 'keyType' | 'clientAddress' | 'accountState'>,
): IssuanceRequest {
  return {
    ...given,
    orderedAt: given.now,
    directory: compiledPolicy(directory),
    issuer,
    identifiers: parsed.identifiers,
    malformed: parsed.refusals,
    notBefore,
    notAfter,
    profile,
  };
}
