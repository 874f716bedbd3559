// Where a CA cert that is there differs from what a custom resource declares, of all that never changes.
import { isDeepStrictEqual } from 'node:util';
import type { SigningCertInput } from '../resources/signing-cert-variants.ts';
import type { DeclaredSigningCertRow } from '../store/signing-certs.ts';
import type { FieldProblem } from './errors.ts';
import { caProfiles } from './profiles.ts';
import { hasSameConstraints, isCertificate } from './signing-cert-immutables.ts';

type Comparison = {
  readonly field: keyof SigningCertInput;
  readonly isSame: (row: DeclaredSigningCertRow, wanted: SigningCertInput) => boolean;
};

const comparisons: readonly Comparison[] = [
  { field: 'cert_type', isSame: (row, wanted) => wanted.cert_type === row.cert_type },
  { field: 'key_availability', isSame: (row, wanted) => wanted.key_availability === row.key_availability },
  {
    field: 'private_key_type',
    isSame: (row, wanted) => !isGenerated(wanted) || wanted.private_key_type === row.key_type,
  },
  {
    field: 'signing_cert_id',
    isSame: (row, { signing_cert_id: parent }) => parent === undefined || parent === row.parent_id,
  },
  { field: 'subject', isSame: (row, wanted) => !isGenerated(wanted) || hasSameSubject(row, wanted.subject ?? {}) },
  {
    field: 'valid_days',
    isSame: (row, wanted) => !isSignedHere(row, wanted) || (wanted.valid_days ?? null) === row.valid_days,
  },
  {
    field: 'path_length',
    isSame: (row, wanted) => !isSignedHere(row, wanted) || pathLengthOf(wanted) === row.path_length,
  },
  {
    field: 'name_constraints',
    isSame: (row, wanted) => !isSignedHere(row, wanted) || hasSameConstraints(row, wanted.name_constraints ?? {}),
  },
  {
    field: 'public_cert',
    isSame: (row, { public_cert: pem }) =>
      row.der === null || pem === undefined || pem === null || isCertificate(pem, row.der),
  },
];

/** What is declared is all that is wanted: a field that is missing stands for its default. */
export const signingCertDifferences = (
  row: DeclaredSigningCertRow,
  wanted: SigningCertInput,
): readonly FieldProblem[] =>
  comparisons
    .filter(({ isSame }) => !isSame(row, wanted))
    .map(({ field }) => ({ field, code: 'immutable', message: 'this field never changes once the CA cert exists' }));

/** Its key is made here, and nothing of an import is declared. */
const isGenerated = ({ private_key_type: keyType }: SigningCertInput): boolean => keyType !== undefined;

/** By us, and not by a parent elsewhere, who may decide otherwise. */
const isSignedHere = ({ csr, parent_id: parent }: DeclaredSigningCertRow, wanted: SigningCertInput): boolean =>
  isGenerated(wanted) && csr === null && (wanted.cert_type === 'root' || parent !== null);

const pathLengthOf = ({ path_length: pathLength, cert_type: certType }: SigningCertInput): number | null =>
  (pathLength === undefined ? caProfiles[certType].pathLength : pathLength) ?? null;

/** CN and O follow the name at the time of making where nothing else is said. */
function hasSameSubject({ subject: made }: DeclaredSigningCertRow, wanted: object): boolean {
  const { CN, O, ...rest } = made;
  return isDeepStrictEqual({ ...(CN && { CN }), ...(O && { O }), ...wanted }, made) && isSubset(rest, wanted);
}

const isSubset = (some: object, all: object): boolean => Object.keys(some).every((name) => name in all);
