// The fields of a CA cert that never change: an update may repeat them, as a reply that is sent back does.
import { isDeepStrictEqual } from 'node:util';
import type { UpdateInput } from '../resources/field.ts';
import type { signingCertFields } from '../resources/fields.ts';
import type { SigningCertRow } from '../store/signing-certs.ts';
import { readCertificatePem } from '../x509/certificate-pem.ts';
import { X509Error } from '../x509/x509-error.ts';
import { storedConstraints } from './certificate-constraints.ts';
import type { FieldProblem } from './errors.ts';
import { parseNameConstraints } from './name-constraints.ts';

/** `signing_cert_id` is a uuid here. */
export type SigningCertUpdate = UpdateInput<typeof signingCertFields>;

type Comparison = {
  readonly field: keyof SigningCertUpdate;
  readonly isSame: (row: SigningCertRow, sent: SigningCertUpdate) => boolean;
};

const comparisons: readonly Comparison[] = [
  { field: 'cert_type', isSame: (row, sent) => sent.cert_type === row.cert_type },
  { field: 'key_availability', isSame: (row, sent) => sent.key_availability === row.key_availability },
  { field: 'signing_cert_id', isSame: (row, sent) => sent.signing_cert_id === row.parent_id },
  { field: 'subject', isSame: (row, sent) => isDeepStrictEqual(sent.subject, row.subject) },
  { field: 'path_length', isSame: (row, sent) => sent.path_length === row.path_length },
  { field: 'name_constraints', isSame: (row, sent) => hasSameConstraints(row, sent.name_constraints ?? {}) },
  // While it is missing it may come, once.
  { field: 'public_cert', isSame: (row, sent) => row.der === null || isCertificate(sent.public_cert ?? '', row.der) },
];

/** Those that are sent with another value. */
export const changedImmutables = (row: SigningCertRow, sent: SigningCertUpdate): readonly FieldProblem[] =>
  comparisons
    .filter(({ field, isSame }) => sent[field] !== undefined && !isSame(row, sent))
    .map(({ field }) => ({
      field,
      code: 'immutable',
      message: 'this field never changes once the CA cert exists; leave it out, or make another CA cert',
    }));

export function hasSameConstraints(
  row: Pick<SigningCertRow, 'name_constraints'>,
  sent: Parameters<typeof parseNameConstraints>[0],
): boolean {
  const read = parseNameConstraints(sent);
  return read.ok && isDeepStrictEqual(storedConstraints(read.value), row.name_constraints);
}

export function isCertificate(pem: string, der: Buffer): boolean {
  try {
    return readCertificatePem(pem).der.equals(der);
  } catch (error) {
    if (error instanceof X509Error) return false;
    throw error;
  }
}
