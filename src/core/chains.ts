// Chains of CA certs, from one up to its root.
import type { CertType } from '../resources/fields.ts';
import type { Db } from '../store/database.ts';
import { type ChainRow, findChain } from '../store/signing-certs.ts';
import { certificatePem } from '../x509/certificate-pem.ts';
import { type ConstrainingCert, parseNameConstraints } from './name-constraints.ts';
import { Recent } from './recent.ts';

export type Chain = {
  /** DER, the issuer of leaves first. */
  readonly intermediates: readonly Buffer[];
  /** The same in PEM. */
  readonly intermediatePems: readonly string[];
  /** PEM; undefined where the chain leaves this service. */
  readonly rootPem: string | undefined;
};

const CHAINS = 1_000;
const chains = new Recent<Chain>(CHAINS);

/**
 * The certificates above a leaf of this CA cert, deleted CA certs included. A certificate and its parent never change
 * once they are there, so a chain that is complete is read once in the life of a process.
 */
export async function chainOf(db: Db, signingCertId: string): Promise<Chain> {
  const known = chains.get(signingCertId);
  if (known !== undefined) return known;
  const rows = await findChain(db, signingCertId);
  const dersOf = (type: CertType) => rows.flatMap((row) => (row.cert_type === type && row.der ? [row.der] : []));
  const [intermediates, [root]] = [dersOf('intermediate'), dersOf('root')];
  const chain = {
    intermediates,
    intermediatePems: intermediates.map(certificatePem),
    rootPem: root && certificatePem(root),
  };
  const isComplete = rows.length > 0 && rows.every(({ der }) => der !== null);
  if (isComplete) chains.set(signingCertId, chain);
  return chain;
}

/** What the CA certs of a chain say about names below them. Throws when a stored one cannot be read, which is a bug. */
export function constrainingCerts(
  chain: readonly Pick<ChainRow, 'id' | 'name' | 'name_constraints'>[],
): readonly ConstrainingCert[] {
  return chain.flatMap(({ id, name, name_constraints }) => {
    if (name_constraints === null) return [];
    const read = parseNameConstraints(name_constraints);
    if (!read.ok) throw new Error(`The stored name constraints of CA cert ${id} cannot be read.`);
    return [{ name, constraints: read.value }];
  });
}

/** Name of the first of these CA certs that is revoked. */
export const revokedIn = (chain: readonly Pick<ChainRow, 'name' | 'state'>[]): string | undefined =>
  chain.find(({ state }) => state === 'revoked')?.name;

/** How many CA certs may stand below the first one of the chain; Infinity where none of them says. */
export const roomBelow = (chain: readonly ChainRow[]): number =>
  Math.min(...chain.map(({ path_length }, above) => (path_length ?? Number.POSITIVE_INFINITY) - above));
