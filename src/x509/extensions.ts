// Certificate extensions as they are built: one function each.
import {
  boolean,
  type Encodable,
  encodeDer,
  explicit,
  implicit,
  implicitSequence,
  integer,
  namedBits,
  nullValue,
  octetString,
  oid,
  sequence,
} from './der-writer.ts';
import { buildGeneralName, buildUri, type SubjectName } from './general-name.ts';
import { encodeNameConstraints, type NameConstraints } from './name-constraints.ts';
import { oids } from './oids.ts';

export type Extension = {
  readonly oid: string;
  readonly critical: boolean;
  /** DER of the extension's own value: the contents of extnValue. */
  readonly value: Buffer;
};

/** In the order of their bits. */
export const keyUsages = [
  'digitalSignature',
  'nonRepudiation',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'keyCertSign',
  'cRLSign',
  'encipherOnly',
  'decipherOnly',
] as const;
export type KeyUsage = (typeof keyUsages)[number];

export const extendedKeyUsages = {
  serverAuth: oids.serverAuth,
  clientAuth: oids.clientAuth,
  OCSPSigning: oids.OCSPSigning,
} as const;
export type ExtendedKeyUsage = keyof typeof extendedKeyUsages;

/** The feature of RFC 7633 that asks for a stapled OCSP answer. */
export const STATUS_REQUEST = 5;

export const basicConstraints = ({ ca, pathLength }: { ca: boolean; pathLength?: number }): Extension =>
  extension(
    oids.basicConstraints,
    true,
    sequence(ca ? boolean(true) : undefined, pathLength === undefined ? undefined : integer(pathLength)),
  );

export const keyUsage = (...usages: readonly KeyUsage[]): Extension =>
  extension(oids.keyUsage, true, namedBits(usages.map((usage) => keyUsages.indexOf(usage))));

export const extendedKeyUsage = (...usages: readonly ExtendedKeyUsage[]): Extension =>
  extension(oids.extKeyUsage, false, sequence(...usages.map((usage) => oid(extendedKeyUsages[usage]))));

export const subjectKeyIdentifier = (keyIdentifier: Buffer): Extension =>
  extension(oids.subjectKeyIdentifier, false, octetString(keyIdentifier));

export const authorityKeyIdentifier = (keyIdentifier: Buffer): Extension =>
  extension(oids.authorityKeyIdentifier, false, sequence(implicit(0, keyIdentifier)));

/** Critical exactly when the subject is empty (RFC 5280 section 4.2.1.6). */
export const subjectAltName = (names: readonly SubjectName[], { critical }: { critical: boolean }): Extension =>
  extension(oids.subjectAltName, critical, sequence(...names.map(buildGeneralName)));

export const nameConstraints = (constraints: NameConstraints): Extension =>
  extension(oids.nameConstraints, true, encodeNameConstraints(constraints));

export const crlDistributionPoint = (url: string): Extension => {
  const fullName = implicitSequence(0, buildUri(url));
  return extension(oids.crlDistributionPoints, false, sequence(sequence(explicit(0, fullName))));
};

export const authorityInfoAccess = (urls: { readonly ocsp?: string; readonly caIssuers?: string }): Extension => {
  const access = (method: string, url: string | undefined) =>
    url === undefined ? undefined : sequence(oid(method), buildUri(url));
  return extension(
    oids.authorityInfoAccess,
    false,
    sequence(access(oids.accessOcsp, urls.ocsp), access(oids.accessCaIssuers, urls.caIssuers)),
  );
};

/** RFC 7633: the certificate demands a stapled OCSP answer. */
export const mustStaple = (): Extension => extension(oids.tlsFeature, false, sequence(integer(STATUS_REQUEST)));

/** RFC 6960 section 4.2.2.2.1, for OCSP responders. */
export const ocspNoCheck = (): Extension => extension(oids.ocspNoCheck, false, nullValue());

export const crlNumber = (number: bigint): Extension => extension(oids.crlNumber, false, integer(number));

/** `SEQUENCE OF Extension`, in the order given. */
export const encodeExtensions = (extensions: readonly Extension[]): Encodable =>
  sequence(
    ...extensions.map(({ oid: identifier, critical, value }) =>
      sequence(oid(identifier), critical ? boolean(true) : undefined, octetString(value)),
    ),
  );

const extension = (identifier: string, critical: boolean, value: Encodable): Extension => ({
  oid: identifier,
  critical,
  value: encodeDer(value),
});
