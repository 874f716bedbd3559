// Certificates of CAs elsewhere, as people bring them: each part can be as wrong as a test wants it.
import type { LeafKeyType } from '../../src/x509/algorithms.ts';
import { assembleCertificate, buildTbsCertificate, newSerial } from '../../src/x509/certificate.ts';
import { certificatePem } from '../../src/x509/certificate-pem.ts';
import {
  authorityKeyIdentifier,
  basicConstraints,
  type Extension,
  keyUsage,
  subjectKeyIdentifier,
} from '../../src/x509/extensions.ts';
import { buildName, type NameFields } from '../../src/x509/name.ts';
import { toPem } from '../../src/x509/pem.ts';
import { generatePrivateKey, type PrivateKey, pkcs8Of } from '../../src/x509/private-key.ts';
import { signerOf } from '../../src/x509/signer.ts';
import { keyIdentifierOf } from '../../src/x509/spki.ts';

export type ForeignCa = {
  readonly subject: Buffer;
  readonly key: PrivateKey;
  readonly der: Buffer;
  /** PEM, as `public_cert` takes it. */
  readonly publicCert: string;
  /** PKCS#8 PEM, as `private_key` takes it. */
  readonly privateKey: string;
};

export type ForeignParts = {
  /** In DER where a name of ours could not be so. */
  readonly subject?: NameFields | Buffer;
  /** Itself when absent: a root. */
  readonly parent?: ForeignCa;
  /** Whose name stands as issuer, whoever signs. */
  readonly issuerName?: NameFields;
  readonly keyType?: LeafKeyType;
  readonly key?: PrivateKey;
  readonly spki?: Buffer;
  readonly serial?: Buffer;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  readonly pathLength?: number;
  /** Beside basicConstraints, keyUsage and the identifiers. */
  readonly more?: readonly Extension[];
  /** Instead of all extensions. */
  readonly extensions?: readonly Extension[];
};

export async function foreignCa(parts: ForeignParts = {}): Promise<ForeignCa> {
  const key = parts.key ?? (await generatePrivateKey(parts.keyType ?? 'ec_256'));
  const { subject: named = { CN: parts.parent ? 'Old Issuing' : 'Old Root', O: 'Old' } } = parts;
  const subject = Buffer.isBuffer(named) ? named : buildName(named);
  const issuer = parts.parent ?? { subject, key };
  const signer = signerOf(issuer.key);
  const tbs = buildTbsCertificate({
    serial: parts.serial ?? newSerial(),
    issuer: parts.issuerName ? buildName(parts.issuerName) : issuer.subject,
    subject,
    notBefore: parts.notBefore ?? new Date('2026-01-01T00:00:00Z'),
    notAfter: parts.notAfter ?? new Date('2036-01-01T00:00:00Z'),
    spki: parts.spki ?? key.spki,
    issuerKeyType: signer.keyType,
    extensions: parts.extensions ?? caExtensions(parts, key, issuer.key),
  });
  const der = assembleCertificate(tbs, signer.keyType, await signer.sign(tbs));
  return { subject, key, der, publicCert: certificatePem(der), privateKey: toPem('PRIVATE KEY', pkcs8Of(key)) };
}

function caExtensions({ pathLength, more = [] }: ForeignParts, key: PrivateKey, issuerKey: PrivateKey) {
  return [
    basicConstraints({ ca: true, ...(pathLength !== undefined && { pathLength }) }),
    keyUsage('keyCertSign', 'cRLSign'),
    subjectKeyIdentifier(keyIdentifierOf(key.spki)),
    authorityKeyIdentifier(keyIdentifierOf(issuerKey.spki)),
    ...more,
  ];
}
