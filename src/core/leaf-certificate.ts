// Leaf certificates: what they hold, decided from an order, its CSR and its issuer, and the bytes that are to be signed.
import type { ProfileName } from '../resources/fields.ts';
import type { LeafKeyType } from '../x509/algorithms.ts';
import { buildTbsCertificate } from '../x509/certificate.ts';
import {
  authorityInfoAccess,
  authorityKeyIdentifier,
  basicConstraints,
  crlDistributionPoint,
  type Extension,
  extendedKeyUsage,
  keyUsage,
  mustStaple,
  subjectAltName,
  subjectKeyIdentifier,
} from '../x509/extensions.ts';
import { type LeafFields, leafKeyUsage } from '../x509/lint.ts';
import { buildName } from '../x509/name.ts';
import { keyIdentifierOf } from '../x509/spki.ts';
import { asciiLowerCase } from './dns-names.ts';
import type { Identifier } from './identifiers.ts';
import type { Issuer } from './issuers.ts';
import { leafProfiles } from './profiles.ts';
import { caCertificateUrl, crlUrl, ocspUrl, type Urls } from './urls.ts';
import type { Validity } from './validity.ts';

/** What was decided about a certificate, all rules applied. */
export type LeafDecision = Validity & {
  readonly serial: Buffer;
  readonly profile: ProfileName;
  /** In the order of the order, each once. */
  readonly identifiers: readonly Identifier[];
  /** Of the CSR. */
  readonly spki: Buffer;
  readonly keyType: LeafKeyType;
  readonly commonNames: readonly string[];
  readonly mustStaple: boolean;
};

/** The upper bound of RFC 5280 appendix A.1. */
const MOST_COMMON_NAME = 64;

export const leafFields = (urls: Urls, issuer: Issuer, decision: LeafDecision): LeafFields => ({
  serial: decision.serial,
  notBefore: decision.notBefore,
  notAfter: decision.notAfter,
  commonName: commonNameOf(decision),
  spki: decision.spki,
  keyType: decision.keyType,
  names: decision.identifiers.map(({ type, value }) => ({ type, value })),
  extendedKeyUsage: leafProfiles[decision.profile].extendedKeyUsage,
  mustStaple: decision.mustStaple,
  issuer,
  urls: { crl: crlUrl(urls, issuer.id), ocsp: ocspUrl(urls, issuer.id), caIssuers: caCertificateUrl(urls, issuer.id) },
});

/** The bytes to be signed. */
export const buildLeaf = (fields: LeafFields): Buffer =>
  buildTbsCertificate({
    serial: fields.serial,
    issuer: fields.issuer.subject,
    subject: buildName(fields.commonName === undefined ? {} : { CN: fields.commonName }),
    notBefore: fields.notBefore,
    notAfter: fields.notAfter,
    spki: fields.spki,
    extensions: extensionsOf(fields),
    issuerKeyType: fields.issuer.keyType,
  });

const extensionsOf = (fields: LeafFields): readonly Extension[] => [
  basicConstraints({ ca: false }),
  keyUsage(...leafKeyUsage(fields)),
  extendedKeyUsage(...fields.extendedKeyUsage),
  subjectAltName(fields.names, { critical: fields.commonName === undefined }),
  authorityKeyIdentifier(fields.issuer.keyIdentifier),
  subjectKeyIdentifier(keyIdentifierOf(fields.spki)),
  crlDistributionPoint(fields.urls.crl),
  authorityInfoAccess({ ocsp: fields.urls.ocsp, caIssuers: fields.urls.caIssuers }),
  ...(fields.mustStaple ? [mustStaple()] : []),
];

/** The first CN of the CSR that is one of the dns names, and short enough, as the SAN writes it (FIN-13: never an address). */
function commonNameOf({ commonNames, identifiers }: LeafDecision): string | undefined {
  const names = new Set(identifiers.filter(({ type }) => type === 'dns').map(({ value }) => value));
  return commonNames.map(asciiLowerCase).find((name) => names.has(name) && name.length <= MOST_COMMON_NAME);
}
