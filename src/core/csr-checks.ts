// CSRs of ACME clients: read, verified, and refused where they ask for what nobody gets. What they ask for otherwise is ignored.
import { quoted } from '../schema/field-problem.ts';
import { type Csr, parseCsr, verifyCsr } from '../x509/csr.ts';
import { jwkOf, thumbprintOf } from '../x509/jwk.ts';
import { X509Error } from '../x509/x509-error.ts';
import { AcmeError } from './acme-error.ts';
import type { Identifier } from './identifiers.ts';

export type CheckedCsr = Csr & {
  /** RFC 7638, of its key. */
  readonly thumbprint: Buffer;
};

type Check = (csr: Csr) => string | undefined;

/** FIN-8. Usages, key identifiers, CA:FALSE and what else a CSR may ask for are passed over. */
const checks: readonly Check[] = [
  ({ requestsCa }) =>
    requestsCa ? 'The CSR asks for a CA certificate; leave out basicConstraints, or set CA:FALSE.' : undefined,
  ({ unknownCriticalExtensions: [unknown] }) =>
    unknown === undefined ? undefined : `The CSR asks for the critical extension ${unknown}, which is not known here.`,
  ({ otherNameKinds: [kind] }) =>
    kind === undefined ? undefined : `The CSR names a subject of the kind ${kind}; certificates are for dns and ip.`,
];

/** Verifies that the requester has the key. Throws `badCSR` saying what is wrong. */
export async function checkCsr(der: Buffer): Promise<CheckedCsr> {
  try {
    const csr = parseCsr(der);
    for (const check of checks) {
      const problem = check(csr);
      if (problem !== undefined) throw badCsr(problem);
    }
    await verifyCsr(csr);
    return { ...csr, thumbprint: thumbprintOf(jwkOf(csr.spki, 'the public key of the CSR')) };
  } catch (error) {
    throw error instanceof X509Error ? badCsr(error.message, error) : error;
  }
}

/** FIN-2: as a set, types kept. */
export function requireSameNames({ names }: Csr, identifiers: readonly Identifier[]): void {
  const ordered = new Set(identifiers.map(nameKey));
  const requested = new Set(names.map(nameKey));
  const [extra] = names.filter((name) => !ordered.has(nameKey(name)));
  if (extra !== undefined)
    throw badCsr(`The CSR names ${extra.type} ${quoted(extra.value, 80)}, which the order does not; make them equal.`);
  const [missing] = identifiers.filter((identifier) => !requested.has(nameKey(identifier)));
  if (missing !== undefined)
    throw badCsr(`The order names ${missing.type} ${missing.value}, which the CSR does not; make them equal.`);
}

export const badCsr = (detail: string, cause?: unknown): AcmeError => new AcmeError('badCSR', detail, { cause });

const nameKey = ({ type, value }: { readonly type: string; readonly value: string }): string => `${type}:${value}`;
