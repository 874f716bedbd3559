// Certificates of tls-alpn-01, good ones unless a part is replaced.
import { createHash } from 'node:crypto';
import type { ProbedIdentifier } from '../../src/core/ports.ts';
import type { KeyType } from '../../src/x509/algorithms.ts';
import { assembleCertificate, buildTbsCertificate, newSerial } from '../../src/x509/certificate.ts';
import { encodeDer, octetString } from '../../src/x509/der-writer.ts';
import { type Extension, subjectAltName } from '../../src/x509/extensions.ts';
import { buildName } from '../../src/x509/name.ts';
import { oids } from '../../src/x509/oids.ts';
import { toPem } from '../../src/x509/pem.ts';
import { generatePrivateKey, type PrivateKey, pkcs8Of } from '../../src/x509/private-key.ts';
import { signerOf } from '../../src/x509/signer.ts';

export type AlpnParts = {
  readonly names?: readonly ProbedIdentifier[];
  readonly extensions?: readonly Extension[];
  readonly keyType?: KeyType;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  /** Somebody else's name, and somebody else's key. */
  readonly issuer?: Buffer;
  readonly signer?: PrivateKey;
};

export type AlpnPair = { readonly der: Buffer; readonly certificate: string; readonly key: string };

export const digestOf = (keyAuthorization: string): Buffer => createHash('sha256').update(keyAuthorization).digest();

export const acmeIdentifier = (digest: Buffer, changes: Partial<Extension> = {}): Extension => ({
  oid: oids.acmeIdentifier,
  critical: true,
  value: encodeDer(octetString(digest)),
  ...changes,
});

const keys = new Map<KeyType, Promise<PrivateKey>>();

function keyOf(keyType: KeyType): Promise<PrivateKey> {
  const key = keys.get(keyType) ?? generatePrivateKey(keyType);
  keys.set(keyType, key);
  return key;
}

export async function alpnCertificate(
  identifier: ProbedIdentifier,
  keyAuthorization: string,
  parts: AlpnParts = {},
): Promise<AlpnPair> {
  const key = await keyOf(parts.keyType ?? 'ec_256');
  const signer = signerOf(parts.signer ?? key);
  const subject = buildName({ CN: 'ACME challenge' });
  const tbs = buildTbsCertificate({
    serial: newSerial(),
    issuer: parts.issuer ?? subject,
    subject,
    notBefore: parts.notBefore ?? new Date('2026-01-01T00:00:00Z'),
    notAfter: parts.notAfter ?? new Date('2046-01-01T00:00:00Z'),
    spki: key.spki,
    extensions: [
      ...((parts.names ?? [identifier]).length > 0
        ? [subjectAltName(parts.names ?? [identifier], { critical: false })]
        : []),
      ...(parts.extensions ?? [acmeIdentifier(digestOf(keyAuthorization))]),
    ],
    issuerKeyType: signer.keyType,
  });
  const der = assembleCertificate(tbs, signer.keyType, await signer.sign(tbs));
  return { der, certificate: toPem('CERTIFICATE', der), key: toPem('PRIVATE KEY', pkcs8Of(key)) };
}
