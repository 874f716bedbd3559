// What the status of a custom resource shows of its CA cert.
import { hash } from 'node:crypto';
import type { SigningCertRow } from '../store/signing-certs.ts';
import { parseCertificate } from '../x509/certificate.ts';
import { readCertificatePem } from '../x509/certificate-pem.ts';
import { csrPem } from '../x509/csr.ts';
import { nameText } from '../x509/name.ts';
import type { Ca } from './ca.ts';
import { type SigningCertView, signingCertView } from './signing-certs.ts';

type CertificateFacts = {
  readonly subject: string;
  /** Hex of even length. */
  readonly serial: string;
  /** SHA-256 of the DER in hex. */
  readonly fingerprint: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
};

export type DeclaredSigningCertView = SigningCertView & {
  /** Undefined while a CSR waits for it. */
  readonly certificate: CertificateFacts | undefined;
  /** PEM, also after it was answered. */
  readonly csr: string | undefined;
  /** What the key is called in the key store; undefined where it is kept elsewhere. */
  readonly keyRef: string | undefined;
};

export const declaredSigningCertView = (row: SigningCertRow): DeclaredSigningCertView => ({
  ...signingCertView(row),
  certificate: row.der === null ? undefined : certificateFacts(row.der),
  csr: row.csr === null ? undefined : csrPem(row.csr),
  keyRef: row.key_ref ?? undefined,
});

/** What is wrong with the key of a CA cert; undefined where it is there and fits. Throws `unavailable`. */
export async function keyTrouble(
  ca: Ca,
  { keyRef, publicCert }: Pick<DeclaredSigningCertView, 'keyRef' | 'publicCert'>,
): Promise<'missing' | 'mismatch' | undefined> {
  if (keyRef === undefined) return undefined;
  const stored = await ca.keys.read(keyRef);
  if (stored === undefined) return 'missing';
  return publicCert === undefined || readCertificatePem(publicCert).spki.equals(stored.spki) ? undefined : 'mismatch';
}

function certificateFacts(der: Buffer): CertificateFacts {
  const { subject, serial, notBefore, notAfter } = parseCertificate(der);
  return {
    subject: nameText(subject),
    serial: serial.toString('hex'),
    fingerprint: hash('sha256', der, 'hex'),
    notBefore,
    notAfter,
  };
}
