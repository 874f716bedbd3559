// CA certs generated here: a root, or an intermediate below a CA cert whose key is here too.
import type { CertType } from '../resources/fields.ts';
import type { SigningCertInput } from '../resources/signing-cert-variants.ts';
import type { KeyType } from '../x509/algorithms.ts';
import { generatePrivateKey, pkcs8Of } from '../x509/private-key.ts';
import { signerOf } from '../x509/signer.ts';
import { signIntermediate, signRoot } from './ca-certificate.ts';
import { storedConstraints } from './certificate-constraints.ts';
import { constrainingCerts, roomBelow } from './chains.ts';
import { FieldProblems } from './field-problems.ts';
import { type MakingRow, makeSigningCert, type Plan } from './make-signing-cert.ts';
import { type NameConstraints, parseNameConstraints } from './name-constraints.ts';
import { permittedBeyondChain } from './nested-constraints.ts';
import { caProfiles } from './profiles.ts';
import { openParent, type Parent, requireSigningParent, shareParent } from './signing-cert-parent.ts';
import { type NamedSubject, namedSubject } from './signing-cert-subject.ts';

/** Everything that is asked of a certificate but who signs it. */
type Wanted = NamedSubject & {
  readonly keyType: KeyType;
  readonly validForDays: number | undefined;
  readonly pathLength: number | undefined;
  readonly nameConstraints: NameConstraints;
};

/** A root signed by its own key. */
export async function readGeneratedRoot(input: SigningCertInput, problems: FieldProblems): Promise<Plan | undefined> {
  const wanted = await wantedOf(input, problems);
  if (wanted === undefined) return undefined;
  return (ca, author, begun) =>
    makeSigningCert(ca, author, begun, async () => ({
      row: rowOf('root', wanted, undefined),
      make: async () => {
        const key = await generatePrivateKey(wanted.keyType);
        const certificate = await signRoot({ ...wanted, spki: key.spki }, signerOf(key), ca.clock.signingTime());
        return { pkcs8: pkcs8Of(key), certificate };
      },
    }));
}

/** An intermediate signed by a CA cert of this service, and never living longer than that. */
export async function readGeneratedIntermediate(
  input: SigningCertInput,
  problems: FieldProblems,
): Promise<Plan | undefined> {
  const wanted = await wantedOf(input, problems);
  const parentId = input.signing_cert_id ?? undefined;
  if (wanted === undefined || parentId === undefined) return undefined;
  return (ca, author, begun) =>
    makeSigningCert(ca, author, begun, async (tx) => {
      const parent = await shareParent(tx, parentId);
      requireSigningParent(parent, ca.clock.now());
      requireWithin(parent, wanted);
      return {
        row: rowOf('intermediate', wanted, parentId),
        make: async () => {
          const key = await generatePrivateKey(wanted.keyType);
          const fields = { ...wanted, spki: key.spki };
          const certificate = await signIntermediate(
            fields,
            await openParent(ca, parent),
            ca.urls,
            ca.clock.signingTime(),
          );
          return { pkcs8: pkcs8Of(key), certificate };
        },
      };
    });
}

async function wantedOf(input: SigningCertInput, problems: FieldProblems): Promise<Wanted | undefined> {
  const named = await namedSubject(input, problems);
  const constraints = parseNameConstraints(input.name_constraints ?? {});
  if (!constraints.ok) problems.addBelow('name_constraints', constraints.problems);
  const keyType = input.private_key_type;
  if (named === undefined || !constraints.ok || keyType === undefined) return undefined;
  return {
    ...named,
    keyType,
    validForDays: input.valid_days,
    pathLength: input.path_length ?? caProfiles[input.cert_type].pathLength,
    nameConstraints: constraints.value,
  };
}

/** Throws `invalid` where the chain above would not let the certificate do what it says. */
function requireWithin({ chain }: Parent, { pathLength, nameConstraints }: Wanted): void {
  const problems = new FieldProblems();
  const longest = roomBelow(chain) - 1;
  if (pathLength !== undefined && pathLength > longest) {
    const message = `expected at most ${longest}, because of the path_length of a CA cert above; got ${pathLength}`;
    problems.add({ field: 'path_length', code: 'out_of_range', message });
  }
  problems.addBelow('name_constraints', permittedBeyondChain(constrainingCerts(chain), nameConstraints));
  problems.refuse();
}

function rowOf(certType: CertType, wanted: Wanted, parentId: string | undefined): MakingRow {
  const constraints = storedConstraints(wanted.nameConstraints);
  return {
    cert_type: certType,
    name: wanted.name,
    key_type: wanted.keyType,
    parent_id: parentId ?? null,
    subject: JSON.stringify(wanted.subject),
    valid_days: wanted.validForDays ?? null,
    path_length: wanted.pathLength ?? null,
    name_constraints: constraints && JSON.stringify(constraints),
  };
}
