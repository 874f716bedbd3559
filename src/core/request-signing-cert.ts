// An intermediate whose parent is elsewhere: its key is made here, and a CSR goes out for its certificate.
import type { SigningCertInput } from '../resources/signing-cert-variants.ts';
import { csrPem } from '../x509/csr.ts';
import { generatePrivateKey, pkcs8Of } from '../x509/private-key.ts';
import type { Ca } from './ca.ts';
import { CaError } from './errors.ts';
import type { FieldProblems } from './field-problems.ts';
import { makeSigningCert, type Plan } from './make-signing-cert.ts';
import { namedSubject } from './signing-cert-subject.ts';
import { requireSigningCert } from './signing-certs.ts';

/** A key, and a CSR that waits for its certificate. */
export async function readRequested(input: SigningCertInput, problems: FieldProblems): Promise<Plan | undefined> {
  const named = await namedSubject(input, problems);
  const keyType = input.private_key_type;
  if (named === undefined || keyType === undefined) return undefined;
  return (ca, author, begun) =>
    makeSigningCert(ca, author, begun, async () => ({
      row: {
        cert_type: 'intermediate',
        name: named.name,
        key_type: keyType,
        parent_id: null,
        valid_days: null,
        path_length: null,
        subject: JSON.stringify(named.subject),
        name_constraints: null,
      },
      make: async () => ({ pkcs8: pkcs8Of(await generatePrivateKey(keyType)) }),
    }));
}

/** PEM of the CSR, also after it was answered. Throws `not_found` for a CA cert that has none. */
export async function getSigningCertCsr(ca: Ca, id: string): Promise<string> {
  const row = await requireSigningCert(ca, id);
  if (row.csr !== null) return csrPem(row.csr);
  throw new CaError('not_found', `CA cert ${row.name} has no CSR: its certificate was not asked for elsewhere.`);
}
