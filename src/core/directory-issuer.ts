// The CA cert that signs for a directory.
import type { Db, Tx } from '../store/database.ts';
import type { DirectoryRow } from '../store/directories.ts';
import { findIssuer, type IssuerRow } from '../store/issuers.ts';
import { findChain, shareSigningCert } from '../store/signing-certs.ts';
import { constrainingCerts, revokedIn } from './chains.ts';
import { CaError } from './errors.ts';
import { type IssuerPolicy, issuerProblem } from './issuance-policy.ts';
import type { ConstrainingCert } from './name-constraints.ts';
import { unknownReference } from './object-kinds.ts';

/** Holds the CA cert against deletion. Throws `unknown_reference`, and `cannot_sign` for one that cannot sign leaves now. */
export async function requireIssuer(tx: Tx, signingCertId: string, now: Date): Promise<void> {
  const row = await shareSigningCert(tx, signingCertId);
  if (row === undefined) throw unknownReference('signing_cert', signingCertId);
  const [, ...above] = await findChain(tx, signingCertId);
  const known = { ...row, deleted_at: null, revoked_above: revokedIn(above) ?? null };
  const problem = issuerProblem(issuerPolicy(known, []), now);
  if (problem !== undefined)
    throw new CaError('cannot_sign', `CA cert ${row.name} ${problem}; choose an online intermediate that can sign.`, {
      field: 'signing_cert_id',
    });
}

/** As it is now, with the name constraints above it; those who ask at once are answered by one statement. */
export async function issuerOf(db: Db, { signing_cert_id: id }: DirectoryRow): Promise<IssuerPolicy> {
  const row = await findIssuer(db, id);
  if (row === undefined) throw new Error(`The CA cert ${id} of a directory is not in the database.`);
  return issuerPolicy(row, constrainingCerts(row.constraining));
}

/** While it has no certificate, its dates are of no interest. */
const issuerPolicy = (
  row: Omit<IssuerRow, 'id' | 'constraining'>,
  chain: readonly ConstrainingCert[],
): IssuerPolicy => ({
  name: row.name,
  state: row.state,
  deleted: row.deleted_at !== null,
  certType: row.cert_type,
  keyAvailability: row.key_availability,
  notBefore: row.not_before ?? new Date(0),
  notAfter: row.not_after ?? new Date(0),
  revokedAbove: row.revoked_above ?? undefined,
  chain,
});
