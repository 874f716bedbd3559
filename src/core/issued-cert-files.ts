// An issued cert as a file, alone or with its chain: what programs and people want to install.
import { certificatePem } from '../x509/certificate-pem.ts';
import { certsOnlyPkcs7 } from '../x509/pkcs7.ts';
import type { Ca } from './ca.ts';
import { chainOf } from './chains.ts';
import { requireIssuedCert } from './issued-certs.ts';

export const certFileFormats = ['pem', 'der', 'chain', 'pkcs7'] as const;
export type CertFileFormat = (typeof certFileFormats)[number];

export type CertFile = {
  readonly contents: string | Buffer;
  /** Lower-case hex of even length. */
  readonly serial: string;
};

/** `chain` is what a TLS server sends: the certificate and the intermediates above it, never the root. Throws `not_found`. */
export async function getIssuedCertFile(ca: Ca, id: string, format: CertFileFormat): Promise<CertFile> {
  const { der, serial, signing_cert_id } = await requireIssuedCert(ca.database.db, id);
  const { intermediates } = await chainOf(ca.database.db, signing_cert_id);
  return { contents: writers[format]([der, ...intermediates]), serial: serial.toString('hex') };
}

/** The leaf comes first. */
const writers: Readonly<Record<CertFileFormat, (certificates: readonly [Buffer, ...Buffer[]]) => string | Buffer>> = {
  pem: ([leaf]) => certificatePem(leaf),
  der: ([leaf]) => leaf,
  chain: (certificates) => certificates.map(certificatePem).join(''),
  pkcs7: certsOnlyPkcs7,
};
