// What a certificate from elsewhere must be by itself before it becomes a CA cert here.
import type { CertType } from '../resources/fields.ts';
import { formatSeconds } from '../schema/timestamp.ts';
import { type Certificate, isSignedBy } from '../x509/certificate.ts';
import { parseDer } from '../x509/der.ts';
import { checkPublicKey } from '../x509/key-policy.ts';
import { nameText } from '../x509/name.ts';
import { readSignatureAlgorithm } from '../x509/signature-algorithm.ts';
import { type Check, checkAll, type Problem } from './certificate-checks.ts';
import { constraintsOf } from './certificate-constraints.ts';

type Expected = { readonly certType: CertType; readonly now: Date };

const checks: readonly Check<Expected>[] = [
  signatureAlgorithmIsAccepted,
  isCa,
  maySign,
  isUnexpired,
  hasSubject,
  isSelfSignedAsExpected,
  criticalExtensionsAreKnown,
  constraintsAreEnforced,
];

/** Everything that is wrong with the certificate by itself. A key that is not accepted ends it: nothing verifies with it. */
export async function caCertificateProblems(certificate: Certificate, expected: Expected): Promise<readonly Problem[]> {
  const ofKey = await checkAll([keyIsAccepted], certificate, expected);
  return ofKey.length > 0 ? ofKey : checkAll(checks, certificate, expected);
}

function keyIsAccepted({ spki }: Certificate): Problem | undefined {
  if (checkPublicKey(spki, 'the key of the certificate').keyType !== 'ed25519') return undefined;
  return {
    code: 'unsupported_key',
    message: 'The key of the certificate is an Ed25519 key; keys of CA certs are RSA keys or of P-256, P-384 or P-521.',
  };
}

/** Also where the issuer is elsewhere and the signature cannot be looked at. */
function signatureAlgorithmIsAccepted({ signatureAlgorithm }: Certificate): undefined {
  readSignatureAlgorithm(parseDer(signatureAlgorithm, 'the signature algorithm'), 'It');
}

function isCa({ extensions }: Certificate): Problem | undefined {
  if (extensions.basicConstraints?.ca) return undefined;
  return { code: 'not_a_ca', message: 'The certificate is not one of a CA: it has no basicConstraints with CA:TRUE.' };
}

/** Without the extension a key may be used for everything (RFC 5280 section 4.2.1.3). */
function maySign({ extensions: { keyUsage } }: Certificate): Problem | undefined {
  const missing = (['keyCertSign', 'cRLSign'] as const).filter((usage) => !(keyUsage?.includes(usage) ?? true));
  if (missing.length === 0) return undefined;
  return { code: 'key_usage', message: `The certificate does not allow ${missing.join(' and ')} in its keyUsage.` };
}

function isUnexpired({ notAfter }: Certificate, { now }: Expected): Problem | undefined {
  if (notAfter > now) return undefined;
  return { code: 'expired', message: `The certificate expired on ${formatSeconds(notAfter)}.` };
}

function hasSubject({ subject }: Certificate): Problem | undefined {
  if (subject.attributes.length > 0) return undefined;
  return {
    code: 'no_subject',
    message: 'The certificate has an empty subject, so that no certificate below could name its issuer.',
  };
}

async function isSelfSignedAsExpected(certificate: Certificate, { certType }: Expected): Promise<Problem | undefined> {
  const isSelfIssued = certificate.subject.der.equals(certificate.issuer.der);
  if (certType === 'root') {
    if (isSelfIssued && (await isSignedBy(certificate, certificate.spki))) return undefined;
    const issuer = isSelfIssued ? 'another key' : nameText(certificate.issuer);
    const message = `The certificate is not self-signed but signed by ${issuer}; a root is self-signed.`;
    return { code: 'not_self_signed', message };
  }
  if (!isSelfIssued || !(await isSignedBy(certificate, certificate.spki))) return undefined;
  return { code: 'self_signed', message: 'The certificate is self-signed; import it with cert_type root.' };
}

/** What must not be ignored and is not understood cannot be kept by what is issued below (RFC 5280 section 4.2). */
function criticalExtensionsAreKnown({ extensions: { unknownCritical } }: Certificate): Problem | undefined {
  if (unknownCritical.length === 0) return undefined;
  return {
    code: 'bad_extension',
    message: `The certificate has critical extensions that are not understood here: ${unknownCritical.join(', ')}.`,
  };
}

function constraintsAreEnforced(certificate: Certificate): Problem | undefined {
  const { otherKinds = [] } = certificate.extensions.nameConstraints ?? {};
  if (otherKinds.length > 0) {
    return {
      code: 'bad_extension',
      message: `The name constraints of the certificate are for names of kind ${otherKinds.join(', ')}; those for dns and IP names are enforced here.`,
    };
  }
  const constraints = constraintsOf(certificate);
  if (constraints.ok) return undefined;
  const [first] = constraints.problems;
  return {
    code: 'bad_extension',
    message: `The name constraints of the certificate cannot be enforced: ${first?.message}`,
  };
}
