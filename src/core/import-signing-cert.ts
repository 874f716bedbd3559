// CA certs that exist already: a certificate, with its key or without.
import type { CertType } from '../resources/fields.ts';
import type { SigningCertInput } from '../resources/signing-cert-variants.ts';
import type { Tx } from '../store/database.ts';
import { findSigningCertByDer, insertSigningCert } from '../store/signing-certs.ts';
import { isCaKeyType, type KeyType } from '../x509/algorithms.ts';
import type { Certificate } from '../x509/certificate.ts';
import { readCertificatePem } from '../x509/certificate-pem.ts';
import { type PrivateKey, pkcs8Of, readPrivateKey } from '../x509/private-key.ts';
import { nobodys } from './adoption.ts';
import { caCertificateProblems } from './ca-certificate-checks.ts';
import { writeCreation } from './complete-signing-cert.ts';
import type { FieldProblems } from './field-problems.ts';
import { type MakingRow, makeSigningCert, type Plan } from './make-signing-cert.ts';
import { type Author, originColumns, ownerOf } from './origin.ts';
import { certificateColumns } from './signing-cert-facts.ts';
import { shareParentOf } from './signing-cert-parent.ts';
import { nameOfSubject } from './signing-cert-subject.ts';

export type CaCertificate = { readonly certificate: Certificate; readonly keyType: KeyType };

/** A certificate whose key is kept elsewhere. */
export async function readOfflineImport(
  input: SigningCertInput,
  problems: FieldProblems,
  now: Date,
): Promise<Plan | undefined> {
  const certificate = await readCertificateField(input.public_cert, problems);
  const checked = certificate && (await checkCaCertificate(certificate, input.cert_type, problems, now));
  if (checked === undefined) return undefined;
  return (ca, author, { id }) =>
    writeCreation(ca, author, async (tx) => {
      await refuseTaken(tx, author, checked.certificate);
      return insertSigningCert(tx, {
        ...(await importedRow(tx, input, checked)),
        ...certificateColumns(checked.certificate),
        ...originColumns(author),
        id,
        state: 'active',
        key_availability: 'offline',
        created_at: now,
      });
    });
}

/** A certificate with its key, which moves into the key store. */
export async function readOnlineImport(
  input: SigningCertInput,
  problems: FieldProblems,
  now: Date,
): Promise<Plan | undefined> {
  const certificate = await readCertificateField(input.public_cert, problems);
  const key = await readKeyField(input.private_key, problems);
  const checked = certificate && (await checkCaCertificate(certificate, input.cert_type, problems, now));
  if (certificate !== undefined && key !== undefined && !key.spki.equals(certificate.spki)) {
    const message = 'The private key does not belong to the certificate in public_cert: their public keys differ.';
    problems.add({ field: 'private_key', code: 'key_mismatch', message });
  }
  if (checked === undefined || key === undefined) return undefined;
  const material = { pkcs8: pkcs8Of(key), certificate: checked.certificate.der };
  return (ca, author, begun) =>
    makeSigningCert(ca, author, begun, async (tx) => {
      await refuseTaken(tx, author, checked.certificate);
      return { row: await importedRow(tx, input, checked), make: async () => material };
    });
}

/** Undefined, and told as a problem, for what is not exactly one certificate. */
export const readCertificateField = async (
  pem: string | null | undefined,
  problems: FieldProblems,
): Promise<Certificate | undefined> =>
  pem === undefined || pem === null ? undefined : problems.reading('public_cert', () => readCertificatePem(pem));

/** Undefined, and all its problems told, where the certificate cannot be that of a CA cert of this type. */
export async function checkCaCertificate(
  certificate: Certificate,
  certType: CertType,
  problems: FieldProblems,
  now: Date,
): Promise<CaCertificate | undefined> {
  const found = await caCertificateProblems(certificate, { certType, now });
  problems.add(...found.map((problem) => ({ field: 'public_cert', ...problem })));
  const { keyType } = certificate;
  return found.length === 0 && keyType !== undefined && isCaKeyType(keyType) ? { certificate, keyType } : undefined;
}

async function readKeyField(pem: string | undefined, problems: FieldProblems): Promise<PrivateKey | undefined> {
  if (pem === undefined) return undefined;
  const key = await problems.reading('private_key', () => readPrivateKey(pem));
  if (key === undefined || isCaKeyType(key.keyType)) return key;
  const message = 'The private key is an Ed25519 key; keys of CA certs are RSA keys or of P-256, P-384 or P-521.';
  problems.add({ field: 'private_key', code: 'unsupported_key', message });
  return undefined;
}

/** Its parent is the one that is named, else the one that signed it among those here. */
export async function importedRow(
  tx: Tx,
  input: Pick<SigningCertInput, 'cert_type' | 'name' | 'signing_cert_id' | 'valid_days'>,
  { certificate, keyType }: CaCertificate,
): Promise<MakingRow> {
  const { path_length, subject, name_constraints } = certificateColumns(certificate);
  const parentId =
    input.cert_type === 'root' ? undefined : await shareParentOf(tx, certificate, input.signing_cert_id ?? undefined);
  return {
    cert_type: input.cert_type,
    name: input.name ?? nameOfSubject(certificate.subject),
    key_type: keyType,
    parent_id: parentId ?? null,
    valid_days: input.valid_days ?? null,
    path_length,
    subject,
    name_constraints,
  };
}

/** A custom resource may take over what holds the certificate already, where that is nobody's. Throws `already_exists`. */
async function refuseTaken(tx: Tx, { declared }: Author, { der }: Certificate): Promise<void> {
  const holder = declared && (await findSigningCertByDer(tx, der));
  if (holder !== undefined && ownerOf(holder) === undefined)
    throw nobodys('The certificate is that of a CA cert', 'import another one');
}
