// The certificate of tls-alpn-01 (RFC 8737 section 3, RFC 8738): what it has to be, one check for each rule.
import type { ProbedIdentifier } from '../core/ports.ts';
import { type Certificate, isSignedBy, parseCertificate } from '../x509/certificate.ts';
import { parseDer, readOctets } from '../x509/der.ts';
import { oids } from '../x509/oids.ts';
import { X509Error } from '../x509/x509-error.ts';

export type Expected = {
  readonly identifier: ProbedIdentifier;
  /** SHA-256 of the key authorization. */
  readonly digest: Buffer;
};

/** What is wrong, as what follows "a certificate"; undefined where nothing is. */
type Check = (certificate: Certificate, expected: Expected) => string | undefined;

/** Before the extension had a number of its own; what shows it implements a draft (SEC-14). */
const DRAFT_OID = '1.3.6.1.5.5.7.1.30.1';

const checks: readonly Check[] = [
  ({ subject, issuer }) => (subject.der.equals(issuer.der) ? undefined : 'that somebody else has issued'),
  namesOnlyTheIdentifier,
  holdsTheDigest,
];

/** ALP-2, ALP-3, ALP-4: why the certificate is no proof. Dates, key type and other extensions do not matter (ALP-6). */
export async function alpnObjection(der: Buffer, expected: Expected): Promise<string | undefined> {
  try {
    const certificate = parseCertificate(der);
    for (const check of checks) {
      const objection = check(certificate, expected);
      if (objection !== undefined) return objection;
    }
    return (await isSignedBy(certificate, certificate.spki)) ? undefined : 'that is not signed by its own key';
  } catch (error) {
    if (error instanceof X509Error) return `that cannot be read: ${error.message.replace(/\.$/, '')}`;
    throw error;
  }
}

function namesOnlyTheIdentifier({ extensions }: Certificate, { identifier }: Expected): string | undefined {
  const { subjectAltNames = [] } = extensions;
  const [name, ...others] = subjectAltNames;
  if (name === undefined) return 'without a subjectAltName';
  if (others.length > 0) return `with ${subjectAltNames.length} names instead of this one alone`;
  const isNamed = name.type === identifier.type && name.value === identifier.value;
  return isNamed ? undefined : 'that names something else';
}

function holdsTheDigest({ extensions }: Certificate, { digest }: Expected): string | undefined {
  const extension = extensions.all.find(({ oid }) => oid === oids.acmeIdentifier);
  if (extension === undefined) {
    const isDraft = extensions.all.some(({ oid }) => oid === DRAFT_OID);
    return isDraft ? 'with the acmeIdentifier extension of a draft' : 'without the acmeIdentifier extension';
  }
  if (!extension.critical) return 'whose acmeIdentifier extension is not critical';
  const what = 'the acmeIdentifier extension';
  return readOctets(parseDer(extension.value, what), what).equals(digest)
    ? undefined
    : 'whose acmeIdentifier extension holds another digest';
}
