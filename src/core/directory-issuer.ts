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
  const policy = { ...issuerPolicy({ ...row, deleted_at: null }, []), revokedAbove: revokedIn(above) };
  const problem = issuerProblem(policy, now);
  if (problem !== undefined)
    throw new CaError('cannot_sign', `CA cert ${row.name} ${problem}; choose an online intermediate that can sign.`, {
      field: 'signing_cert_id',
    });
}

/** What is decided about, and of which version of the CA cert. */
type Issuing = { readonly issuer: IssuerPolicy; readonly issuerVersion: number };

/** As it is now. */
export const issuerOf = async (db: Db, { signing_cert_id: id }: DirectoryRow): Promise<Issuing> =>
  ruled(db, id, await findKnown(db, id));

/** As it was seen with the directory, or as it is since. */
export const seenIssuerOf = async (
  db: Db,
  { signing_cert_id: id, issuerVersion }: Pick<AcmeDirectory, 'signing_cert_id' | 'issuerVersion'>,
): Promise<Issuing> => ruled(db, id, await knownAt(db, id, issuerVersion));

/** What changes with its version alone. */
type Known = Pick<IssuerRow, 'version' | 'intermediates_above'> & {
  readonly policy: Omit<IssuerPolicy, 'revokedAbove'>;
};

async function findKnown(db: Db, id: string): Promise<Known | undefined> {
  const row = await findIssuer(db, id);
  if (row === undefined) return undefined;
  const { version, intermediates_above } = row;
  return { version, intermediates_above, policy: issuerPolicy(row, constrainingCerts(row.constraining)) };
}

const ISSUERS = 1_000;

/** One that is pending gets its certificate in the same version. */
const knownAt = keptByVersion(ISSUERS, findKnown, ({ policy }) => policy.state !== 'pending');

async function ruled(db: Db, id: string, known: Known | undefined): Promise<Issuing> {
  if (known === undefined) throw new Error(`The CA cert ${id} of a directory is not in the database.`);
  const { version: issuerVersion, intermediates_above: above, policy } = known;
  return { issuer: { ...policy, revokedAbove: await findRevokedAmong(db, above) }, issuerVersion };
}

/** While it has no certificate, its dates are of no interest. */
const issuerPolicy = (
  row: Omit<IssuerRow, 'id' | 'version' | 'constraining' | 'intermediates_above'>,
  chain: readonly ConstrainingCert[],
): Omit<IssuerPolicy, 'revokedAbove'> => ({
  name: row.name,
  state: row.state,
  deleted: row.deleted_at !== null,
  certType: row.cert_type,
  keyAvailability: row.key_availability,
  notBefore: row.not_before ?? new Date(0),
  notAfter: row.not_after ?? new Date(0),
  chain,
});
