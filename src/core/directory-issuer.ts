// The CA cert that signs for a directory.
import type { Tx } from '../store/database.ts';
import { type SigningCertRow, shareSigningCert } from '../store/signing-certs.ts';
import { CaError } from './errors.ts';
import { type IssuerPolicy, issuerProblem } from './issuance-policy.ts';
import type { ConstrainingCert } from './name-constraints.ts';
import { unknownReference } from './object-kinds.ts';

/** Holds the CA cert against deletion. Throws `unknown_reference`, and `cannot_sign` for one that cannot sign leaves now. */
export async function requireIssuer(tx: Tx, signingCertId: string, now: Date): Promise<void> {
  const row = await shareSigningCert(tx, signingCertId);
  if (row === undefined) throw unknownReference('signing_cert', signingCertId);
  const problem = issuerProblem(issuerPolicy(row, []), now);
  if (problem !== undefined)
    throw new CaError('cannot_sign', `CA cert ${row.name} ${problem}; choose an online intermediate that can sign.`, {
      field: 'signing_cert_id',
    });
}

/** Of a row that a caller can see. While it has no certificate, its dates are of no interest. */
export const issuerPolicy = (row: SigningCertRow, chain: readonly ConstrainingCert[]): IssuerPolicy => ({
  name: row.name,
  state: row.state,
  deleted: false,
  certType: row.cert_type,
  keyAvailability: row.key_availability,
  notBefore: row.not_before ?? new Date(0),
  notAfter: row.not_after ?? new Date(0),
  chain,
});
