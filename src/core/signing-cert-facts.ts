// What the row of a CA cert takes from its certificate, and what audit and log say of a row.
import type { SigningCertCertificate, SigningCertRow } from '../store/signing-certs.ts';
import type { Certificate } from '../x509/certificate.ts';
import { subjectKeyIdentifierOf } from './ca-certificate.ts';
import { constraintsOf, storedConstraints } from './certificate-constraints.ts';
import { formatId } from './ids.ts';

/** Throws when the name constraints are of a form that is not enforced here; imports are refused before that. */
export function certificateColumns(certificate: Certificate): SigningCertCertificate {
  const constraints = constraintsOf(certificate);
  if (!constraints.ok) throw new Error('The name constraints of a CA certificate cannot be enforced.');
  const stored = storedConstraints(constraints.value);
  return {
    path_length: certificate.extensions.basicConstraints?.pathLength ?? null,
    subject: JSON.stringify(certificate.subject.fields),
    name_constraints: stored && JSON.stringify(stored),
    der: certificate.der,
    subject_der: certificate.subject.der,
    ski: subjectKeyIdentifierOf(certificate),
    serial: certificate.serial,
    not_before: certificate.notBefore,
    not_after: certificate.notAfter,
  };
}

/** Named as /v1 names them; nothing of the key but its type. */
export const signingCertFacts = (row: SigningCertRow) => ({
  name: row.name,
  cert_type: row.cert_type,
  key_availability: row.key_availability,
  key_type: row.key_type,
  signing_cert_id: row.parent_id && formatId('scrt', row.parent_id),
  subject: row.subject,
  path_length: row.path_length,
  name_constraints: row.name_constraints,
  expires_at: row.not_after,
});
