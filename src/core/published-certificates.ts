// CA certificates as relying parties read them: every CA cert that has its certificate, deleted ones included, because what
// it signed lives on and names this place.
import { hash } from 'node:crypto';
import { findChain } from '../store/signing-certs.ts';
import { parseCertificate } from '../x509/certificate.ts';
import { certificatePem } from '../x509/certificate-pem.ts';
import { certsOnlyPkcs7 } from '../x509/pkcs7.ts';
import type { Ca } from './ca.ts';
import { Recent } from './recent.ts';

/** `crt`: it alone, as AIA names it (RFC 5280 section 4.2.2.1); the others hold those above it as well, up to the root. */
export type CaFileFormat = keyof typeof writers;

export type CaFile = {
  readonly contents: string | Buffer;
  /** Another one for other contents. */
  readonly tag: string;
  readonly notBefore: Date;
};

const writers = {
  crt: ([certificate]) => certificate,
  p7c: certsOnlyPkcs7,
  pem: (certificates) => certificates.map(certificatePem).join(''),
} as const satisfies Readonly<Record<string, (certificates: readonly [Buffer, ...Buffer[]]) => string | Buffer>>;

const MOST = 1_000;
const known = new Recent<CaFile>(MOST);

/**
 * By the uuid of a CA cert; undefined while it has no certificate. A certificate never changes once it is there, nor does
 * a chain that is complete: such files are made once in the life of a process.
 */
export async function findCaFile(ca: Ca, id: string, format: CaFileFormat): Promise<CaFile | undefined> {
  const key = `${format} ${id}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const rows = await findChain(ca.database.db, id);
  const [certificate, ...above] = rows.map(({ der }) => der);
  if (certificate === undefined || certificate === null) return undefined;
  const contents = writers[format]([certificate, ...above.filter((der) => der !== null)]);
  const { notBefore } = parseCertificate(certificate);
  const file = { contents, tag: hash('sha256', contents, 'base64url'), notBefore };
  if (above.every((der) => der !== null)) known.set(key, file);
  return file;
}
