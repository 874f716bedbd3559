// The CA cert that signs for a directory.
import type { Db, Tx } from '../store/database.ts';
import type { DirectoryRow } from '../store/directories.ts';
import { findIssuer, findRevokedAmong, type IssuerRow } from '../store/issuers.ts';
import { findChain, shareSigningCert } from '../store/signing-certs.ts';
import type { AcmeDirectory } from './acme-requests.ts';
import { constrainingCerts, revokedIn } from './chains.ts';
import { CaError } from './errors.ts';
import { type IssuerPolicy, issuerProblem } from './issuance-policy.ts';
import { keptByVersion } from './kept-rows.ts';
import type { ConstrainingCert } from './name-constraints.ts';
import { unknownReference } from './object-kinds.ts';

/** Holds the CA cert against deletion. Throws `unknown_reference`, and `cannot_sign` for one that cannot sign leaves now. */
export async function requireIssuer(tx: Tx, signingCertId: string, now: Date): Promise<void> {
  const row = await shareSigningCert(tx, signingCertId);
  if (row === undefined) throw unknownReference('signing_cert', signingCertId);
  const [, ...above] = await findChain(tx, signingCertId);
  const problem = issuerProblem(issuerPolicy({ ...row, deleted_at: null }, revokedIn(above), []), now);
  if (problem !== undefined)
    throw new CaError('cannot_sign', `CA cert ${row.name} ${problem}; choose an online intermediate that can sign.`, {
      field: 'signing_cert_id',
    });
}

/** As it is now, with the name constraints above it. */
export const issuerOf = async (db: Db, { signing_cert_id: id }: DirectoryRow): Promise<IssuerPolicy> =>
  policyOf(db, id, await findIssuer(db, id));

/** As it was seen with the directory. */
export const seenIssuerOf = async (
  db: Db,
  { signing_cert_id: id, issuerVersion }: Pick<AcmeDirectory, 'signing_cert_id' | 'issuerVersion'>,
): Promise<IssuerPolicy> => policyOf(db, id, await issuerAt(db, id, issuerVersion));

const ISSUERS = 1_000;

/** One that is pending gets its certificate in the same version. */
const issuerAt = keptByVersion(ISSUERS, findIssuer, ({ state }) => state !== 'pending');

async function policyOf(db: Db, id: string, row: IssuerRow | undefined): Promise<IssuerPolicy> {
  if (row === undefined) throw new Error(`The CA cert ${id} of a directory is not in the database.`);
  const { intermediates_above: above } = row;
  // Most stand below a root, which nobody revokes.
  const revokedAbove = above.length === 0 ? undefined : await findRevokedAmong(db, above);
  return issuerPolicy(row, revokedAbove, constrainingCerts(row.constraining));
}

/** While it has no certificate, its dates are of no interest. */
const issuerPolicy = (
  row: Omit<IssuerRow, 'id' | 'version' | 'constraining' | 'intermediates_above'>,
  revokedAbove: string | undefined,
  chain: readonly ConstrainingCert[],
): IssuerPolicy => ({
  name: row.name,
  state: row.state,
  deleted: row.deleted_at !== null,
  certType: row.cert_type,
  keyAvailability: row.key_availability,
  notBefore: row.not_before ?? new Date(0),
  notAfter: row.not_after ?? new Date(0),
  revokedAbove,
  chain,
});
