// What the checks of issuance-policy.ts decide about, put together: the same for a real order and for a supposed one.
import type { Db } from '../store/database.ts';
import type { DirectoryRow } from '../store/directories.ts';
import { issuerOf } from './directory-issuer.ts';
import type { ParsedIdentifiers } from './identifiers.ts';
import type { IssuanceRequest } from './issuance-policy.ts';
import { compiledPolicy } from './policy-cache.ts';

export type AskedFor = Pick<IssuanceRequest, 'notBefore' | 'notAfter' | 'profile'> & {
  readonly parsed: ParsedIdentifiers;
};

/** An order that is made now. Reads the issuer. */
export async function issuanceRequest(
  db: Db,
  directory: DirectoryRow,
  { parsed, notBefore, notAfter, profile }: AskedFor,
  given: Pick<IssuanceRequest, 'now' | 'keyType' | 'clientAddress' | 'accountState'>,
): Promise<IssuanceRequest> {
  return {
    ...given,
    orderedAt: given.now,
    directory: compiledPolicy(directory),
    issuer: await issuerOf(db, directory),
    identifiers: parsed.identifiers,
    malformed: parsed.refusals,
    notBefore,
    notAfter,
    profile,
  };
}
