// What the parent of a CA certificate, and the CA certs above that, hold against it.
import type { ChainRow } from '../store/signing-certs.ts';
import { type Certificate, isSignedBy } from '../x509/certificate.ts';
import { nameText } from '../x509/name.ts';
import { type Check, checkAll, type Problem } from './certificate-checks.ts';
import { constraintsOf } from './certificate-constraints.ts';
import { constrainingCerts, revokedIn, roomBelow } from './chains.ts';
import { parseIdentifier } from './identifiers.ts';
import { nameConstraintViolation } from './name-constraints.ts';
import { permittedBeyondChain } from './nested-constraints.ts';

/** The parent of an intermediate, and its chain with itself at the begin. */
export type ParentFacts = {
  readonly name: string;
  readonly certificate: Certificate;
  readonly chain: readonly ChainRow[];
};

const checks: readonly Check<ParentFacts>[] = [
  isIssuedByParent,
  parentIsTrusted,
  parentAllowsCa,
  ownNamesAreAllowed,
  permitsNoMoreThanChain,
];

/** Everything that stands against the certificate below this parent. */
export const belowParentProblems = (certificate: Certificate, parent: ParentFacts): Promise<readonly Problem[]> =>
  checkAll(checks, certificate, parent);

/** Name and signature say that this is the issuer. */
export const isIssuedBy = async (certificate: Certificate, issuer: Certificate): Promise<boolean> =>
  certificate.issuer.der.equals(issuer.subject.der) && isSignedBy(certificate, issuer.spki);

async function isIssuedByParent(certificate: Certificate, parent: ParentFacts): Promise<Problem | undefined> {
  if (await isIssuedBy(certificate, parent.certificate)) return undefined;
  const issuer = nameText(certificate.issuer);
  const isNamed = certificate.issuer.der.equals(parent.certificate.subject.der);
  const why = isNamed
    ? 'it bears the name of that CA cert, but its signature is by another key'
    : `its issuer is ${issuer}, and the subject of that CA cert is ${nameText(parent.certificate.subject)}`;
  return { code: 'wrong_parent', message: `The certificate is not signed by CA cert ${parent.name}: ${why}.` };
}

function parentIsTrusted(_: Certificate, { chain }: ParentFacts): Problem | undefined {
  const name = revokedIn(chain);
  if (name === undefined) return undefined;
  return {
    code: 'parent_revoked',
    message: `CA cert ${name}, which stands above it, is revoked, so that nobody trusts it.`,
  };
}

function parentAllowsCa(_: Certificate, { name, chain }: ParentFacts): Problem | undefined {
  if (roomBelow(chain) >= 1) return undefined;
  const message = `CA cert ${name} allows no CA cert below it: a path length in its chain is used up.`;
  return { code: 'path_length', message };
}

/** A CA certificate rarely has names of its own; those it has are bound as those of leaves are. */
function ownNamesAreAllowed({ extensions }: Certificate, { chain }: ParentFacts): Problem | undefined {
  const constraining = constrainingCerts(chain);
  for (const { type, value } of extensions.subjectAltNames ?? []) {
    const parsed = parseIdentifier({ type, value });
    const violation = parsed.ok ? nameConstraintViolation(constraining, parsed.identifier) : undefined;
    if (violation !== undefined) return { code: 'name_constraints', message: `${violation}` };
  }
  return undefined;
}

function permitsNoMoreThanChain(certificate: Certificate, { chain }: ParentFacts): Problem | undefined {
  const constraints = constraintsOf(certificate);
  const [first] = constraints.ok ? permittedBeyondChain(constrainingCerts(chain), constraints.value) : [];
  return (
    first && { code: 'name_constraints', message: `The certificate permits names that it cannot: ${first.message}.` }
  );
}
