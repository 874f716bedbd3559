// Certificates of CAs: how long they live, what they hold, and their signature, which is checked before anybody sees it.
import {
  assembleCertificate,
  buildTbsCertificate,
  type Certificate,
  isSignedBy,
  newSerial,
  parseCertificate,
} from '../x509/certificate.ts';
import {
  authorityInfoAccess,
  authorityKeyIdentifier,
  basicConstraints,
  crlDistributionPoint,
  type Extension,
  keyUsage,
  nameConstraints,
  subjectKeyIdentifier,
} from '../x509/extensions.ts';
import { keyIdentifierOf } from '../x509/spki.ts';
import { encodedConstraints } from './certificate-constraints.ts';
import type { NameConstraints } from './name-constraints.ts';
import type { Signer } from './ports.ts';
import { caProfiles } from './profiles.ts';
import { caCertificateUrl, crlUrl, ocspUrl, type Urls } from './urls.ts';

/** Who signs a CA certificate that is not a root. */
export type ParentCa = {
  readonly id: string;
  /** As it is stored. */
  readonly certificate: Certificate;
  readonly signer: Signer;
};

export type CaCertificateFields = {
  /** DER of the name. */
  readonly subjectDer: Buffer;
  readonly spki: Buffer;
  readonly validForDays: number | undefined;
  readonly pathLength: number | undefined;
  readonly nameConstraints: NameConstraints;
};

const DAY_MS = 86_400_000;
const SECOND_MS = 1_000;
/** SEC-32: clocks of those who check are not all right. */
const BACKDATE_MS = 300_000;

/** DER of a root, signed by its own key. */
export async function signRoot(fields: CaCertificateFields, signer: Signer, now: Date): Promise<Buffer> {
  const tbs = buildTbsCertificate({
    serial: newSerial(),
    issuer: fields.subjectDer,
    subject: fields.subjectDer,
    ...lifetime('root', fields.validForDays, now),
    spki: fields.spki,
    issuerKeyType: signer.keyType,
    extensions: caExtensions('root', fields),
  });
  return signed(tbs, signer, fields.spki);
}

/** DER of an intermediate. It never outlives its parent: a later end becomes the parent's. */
export async function signIntermediate(
  fields: CaCertificateFields,
  parent: ParentCa,
  urls: Urls,
  now: Date,
): Promise<Buffer> {
  const { certificate, signer, id } = parent;
  const wanted = lifetime('intermediate', fields.validForDays, now);
  const tbs = buildTbsCertificate({
    serial: newSerial(),
    issuer: certificate.subject.der,
    subject: fields.subjectDer,
    notBefore: later(wanted.notBefore, certificate.notBefore),
    notAfter: earlier(wanted.notAfter, certificate.notAfter),
    spki: fields.spki,
    issuerKeyType: signer.keyType,
    extensions: [
      ...caExtensions('intermediate', fields),
      authorityKeyIdentifier(subjectKeyIdentifierOf(certificate)),
      crlDistributionPoint(crlUrl(urls, id)),
      authorityInfoAccess({ ocsp: ocspUrl(urls, id), caIssuers: caCertificateUrl(urls, id) }),
    ],
  });
  return signed(tbs, signer, certificate.spki);
}

/** What authority key identifiers below this CA have to be. */
export const subjectKeyIdentifierOf = ({ extensions, spki }: Certificate): Buffer =>
  extensions.subjectKeyIdentifier ?? keyIdentifierOf(spki);

/** What a CSR asks of a parent elsewhere: as we would make the certificate ourselves. */
export const requestedExtensions = (): readonly Extension[] => [
  basicConstraints({ ca: true, pathLength: caProfiles.intermediate.pathLength }),
  keyUsage(...caProfiles.intermediate.keyUsage),
];

/** N days are N days to the second, both ends included (SEC-16), and count from now. */
function lifetime(certType: 'root' | 'intermediate', validForDays: number | undefined, now: Date) {
  const begin = Math.floor(now.getTime() / SECOND_MS) * SECOND_MS;
  const end =
    validForDays === undefined ? yearsAfter(begin, caProfiles[certType].validForYears) : begin + validForDays * DAY_MS;
  return { notBefore: new Date(begin - BACKDATE_MS), notAfter: new Date(end - SECOND_MS) };
}

function yearsAfter(time: number, years: number): number {
  const date = new Date(time);
  return date.setUTCFullYear(date.getUTCFullYear() + years);
}

function caExtensions(certType: 'root' | 'intermediate', fields: CaCertificateFields): readonly Extension[] {
  const { pathLength, spki } = fields;
  const constraints = encodedConstraints(fields.nameConstraints);
  return [
    basicConstraints({ ca: true, ...(pathLength !== undefined && { pathLength }) }),
    keyUsage(...caProfiles[certType].keyUsage),
    ...(constraints === undefined ? [] : [nameConstraints(constraints)]),
    subjectKeyIdentifier(keyIdentifierOf(spki)),
  ];
}

async function signed(tbs: Buffer, signer: Signer, issuerSpki: Buffer): Promise<Buffer> {
  const der = assembleCertificate(tbs, signer.keyType, await signer.sign(tbs));
  if (!(await isSignedBy(parseCertificate(der), issuerSpki)))
    throw new Error('The key that signed is not that of the stored CA certificate.');
  return der;
}

const later = (one: Date, other: Date): Date => (one > other ? one : other);
const earlier = (one: Date, other: Date): Date => (one < other ? one : other);
