// Chains of CA certs, from one up to its root.
import type { Db } from '../store/database.ts';
import { type ChainRow, findChain } from '../store/signing-certs.ts';
import { type ConstrainingCert, parseNameConstraints } from './name-constraints.ts';

export type Chain = {
  /** DER, the issuer of leaves first. */
  readonly intermediates: readonly Buffer[];
  /** Undefined where the chain leaves this service. */
  readonly root: Buffer | undefined;
};

/** The certificates above a leaf of this CA cert, deleted CA certs included: one statement. */
export async function chainOf(db: Db, signingCertId: string): Promise<Chain> {
  const rows = await findChain(db, signingCertId);
  return {
    intermediates: rows.flatMap(({ cert_type, der }) => (cert_type === 'intermediate' && der !== null ? [der] : [])),
    root: rows.find(({ cert_type }) => cert_type === 'root')?.der ?? undefined,
  };
}

/** What the CA certs of a chain say about names below them. Throws when a stored one cannot be read, which is a bug. */
export function constrainingCerts(chain: readonly ChainRow[]): readonly ConstrainingCert[] {
  return chain.flatMap(({ id, name, name_constraints }) => {
    if (name_constraints === null) return [];
    const read = parseNameConstraints(name_constraints);
    if (!read.ok) throw new Error(`The stored name constraints of CA cert ${id} cannot be read.`);
    return [{ name, constraints: read.value }];
  });
}

/** How many CA certs may stand below the first one of the chain; Infinity where none of them says. */
export const roomBelow = (chain: readonly ChainRow[]): number =>
  Math.min(...chain.map(({ path_length }, above) => (path_length ?? Number.POSITIVE_INFINITY) - above));
