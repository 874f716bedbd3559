// Certificates that sign OCSP answers in place of a CA (RFC 6960 section 4.2.2.2): the key of the CA signs once in 45 days.
import type { KeyType } from '../x509/algorithms.ts';
import {
  assembleCertificate,
  buildTbsCertificate,
  isSignedBy,
  newSerial,
  parseCertificate,
} from '../x509/certificate.ts';
import {
  authorityKeyIdentifier,
  basicConstraints,
  extendedKeyUsage,
  keyUsage,
  ocspNoCheck,
  subjectKeyIdentifier,
} from '../x509/extensions.ts';
import { buildName } from '../x509/name.ts';
import { generatePrivateKey, pkcs8Of } from '../x509/private-key.ts';
import { keyIdentifierOf } from '../x509/spki.ts';
import { formatId } from './ids.ts';
import type { Issuer } from './issuers.ts';
import type { KeyMaterial, Signer } from './ports.ts';

const DAY_MS = 86_400_000;
const SECOND_MS = 1_000;
const LIFE_MS = 90 * DAY_MS;
/** SEC-32: clocks of those who check are not all right. */
const BACKDATE_MS = 300_000;

/**
 * Whoever can verify the signature of the CA can verify that of its answers, so RSA stays RSA. Of each family the smallest:
 * the key lives for 90 days and signs what holds for hours, and a P-384 signature costs sixty times as much.
 */
const keyTypeBelow: Readonly<Record<KeyType, KeyType>> = {
  ec_256: 'ec_256',
  ec_384: 'ec_256',
  ec_521: 'ec_256',
  rsa_2048: 'rsa_2048',
  rsa_3072: 'rsa_2048',
  rsa_4096: 'rsa_2048',
};

/** A new key with a certificate of 90 days, or until the CA ends. */
export async function newOcspSigner(issuer: Issuer, signer: Signer, now: Date): Promise<KeyMaterial> {
  const key = await generatePrivateKey(keyTypeBelow[issuer.keyType]);
  const begin = Math.floor(now.getTime() / SECOND_MS) * SECOND_MS - BACKDATE_MS;
  const notBefore = Math.max(begin, issuer.notBefore.getTime());
  const notAfter = Math.min(notBefore + LIFE_MS - SECOND_MS, issuer.notAfter.getTime());
  const tbs = buildTbsCertificate({
    serial: newSerial(),
    issuer: issuer.subject,
    subject: buildName({ CN: `OCSP ${formatId('scrt', issuer.id)}` }),
    notBefore: new Date(notBefore),
    notAfter: new Date(notAfter),
    spki: key.spki,
    issuerKeyType: issuer.keyType,
    extensions: [
      basicConstraints({ ca: false }),
      keyUsage('digitalSignature'),
      extendedKeyUsage('OCSPSigning'),
      ocspNoCheck(),
      subjectKeyIdentifier(keyIdentifierOf(key.spki)),
      authorityKeyIdentifier(issuer.keyIdentifier),
    ],
  });
  const certificate = assembleCertificate(tbs, issuer.keyType, await signer.sign(tbs));
  if (!(await isSignedBy(parseCertificate(certificate), issuer.spki)))
    throw new Error('The signature is not by the key of the stored CA certificate.');
  return { pkcs8: pkcs8Of(key), certificate };
}
