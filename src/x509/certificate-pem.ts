// Certificates as PEM text: exactly one, or a chain.
import { type Certificate, parseCertificate } from './certificate.ts';
import { readOnlyPem, readPemBlocks, toPem } from './pem.ts';
import { X509Error } from './x509-error.ts';

const LABEL = 'CERTIFICATE';
const MAX_CHAIN = 10;
const HINTS: Readonly<Record<string, string>> = {
  'CERTIFICATE REQUEST': 'It is a signing request; have it signed first and give the certificate.',
  'NEW CERTIFICATE REQUEST': 'It is a signing request; have it signed first and give the certificate.',
  'PRIVATE KEY': 'It is a private key: keep it secret.',
  'RSA PRIVATE KEY': 'It is a private key: keep it secret.',
  'EC PRIVATE KEY': 'It is a private key: keep it secret.',
  'TRUSTED CERTIFICATE': 'Convert it with: openssl x509 -in CERT.pem -out PLAIN.pem',
  'X509 CERTIFICATE': 'Convert it with: openssl x509 -in CERT.pem -out PLAIN.pem',
  PKCS7: 'Convert it with: openssl pkcs7 -in FILE.p7b -print_certs',
};

export const certificatePem = (der: Buffer): string => toPem(LABEL, der);

/** Exactly one certificate. */
export const readCertificatePem = (text: string, what = 'the certificate'): Certificate =>
  parseCertificate(readOnlyPem(text, what, [LABEL], HINTS).der, what);

/** One to ten certificates in the order of the text; whether they make a chain is not looked at. */
export function readCertificateChainPem(text: string, what = 'the certificate chain'): readonly Certificate[] {
  const blocks = readPemBlocks(text, what);
  const stranger = blocks.find(({ label }) => label !== LABEL);
  if (stranger !== undefined) {
    const hint = HINTS[stranger.label] ?? '';
    throw new X509Error(
      'wrong_pem',
      `${what} must hold only CERTIFICATE blocks, not "${stranger.label}". ${hint}`.trim(),
    );
  }
  if (blocks.length === 0 || blocks.length > MAX_CHAIN) {
    throw new X509Error(
      'wrong_pem',
      `${what} must be 1 to ${MAX_CHAIN} PEM blocks CERTIFICATE; found ${blocks.length}.`,
    );
  }
  return blocks.map(({ der }, index) => parseCertificate(der, `${what} (certificate ${index + 1})`));
}
