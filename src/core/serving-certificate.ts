// The certificate of our own HTTPS: each process makes one in memory, signed by the serving CA, and renews it at half its life.
import { isIP } from 'node:net';
import { assembleCertificate, buildTbsCertificate, newSerial, parseCertificate } from '../x509/certificate.ts';
import { certificatePem } from '../x509/certificate-pem.ts';
import {
  authorityKeyIdentifier,
  basicConstraints,
  crlDistributionPoint,
  extendedKeyUsage,
  keyUsage,
  subjectAltName,
  subjectKeyIdentifier,
} from '../x509/extensions.ts';
import { buildName } from '../x509/name.ts';
import { toPem } from '../x509/pem.ts';
import { generatePrivateKey, pkcs8Of } from '../x509/private-key.ts';
import { keyIdentifierOf } from '../x509/spki.ts';
import type { Ca } from './ca.ts';
import { openServingCa } from './serving-ca.ts';
import { servingCrlUrl } from './urls.ts';

const LIFE_MS = 30 * 86_400_000;
const BACKDATE_MS = 300_000;
const MAX_COMMON_NAME = 64;

export type ServingCertificate = {
  /** PEM. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
  /** PEM of what clients should trust. */
  readonly anchors: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly renewAt: Date;
};

/** Makes a new key and certificate for these names. Throws `unavailable` when the serving CA's key cannot be used. */
async function makeServingCertificate(ca: Ca, names: readonly string[]): Promise<ServingCertificate> {
  const servingCa = await openServingCa(ca);
  const issuer = parseCertificate(servingCa.certificate);
  const key = await generatePrivateKey('ec_256');
  const now = ca.clock.now().getTime();
  const notBefore = new Date(Math.max(now - BACKDATE_MS, issuer.notBefore.getTime()));
  const notAfter = new Date(Math.min(now + LIFE_MS, issuer.notAfter.getTime()));
  // Some clients still compare the common name (G-28).
  const commonName = names.find((name) => name.length <= MAX_COMMON_NAME);
  const tbs = buildTbsCertificate({
    serial: newSerial(),
    issuer: issuer.subject.der,
    subject: buildName(commonName === undefined ? {} : { CN: commonName }),
    notBefore,
    notAfter,
    spki: key.spki,
    issuerKeyType: servingCa.signer.keyType,
    extensions: [
      basicConstraints({ ca: false }),
      keyUsage('digitalSignature'),
      extendedKeyUsage('serverAuth'),
      subjectKeyIdentifier(keyIdentifierOf(key.spki)),
      authorityKeyIdentifier(keyIdentifierOf(issuer.spki)),
      // Windows refuses a certificate whose revocation it cannot look up (G-24).
      crlDistributionPoint(servingCrlUrl(ca.urls, servingCa.generation)),
      subjectAltName(
        names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value })),
        { critical: commonName === undefined },
      ),
    ],
  });
  const certificate = assembleCertificate(tbs, servingCa.signer.keyType, await servingCa.signer.sign(tbs));
  ca.events.servingCertificateMade({ names, notAfter });
  return {
    certificate: certificatePem(certificate),
    key: toPem('PRIVATE KEY', pkcs8Of(key)),
    anchors: servingCa.anchors,
    notBefore,
    notAfter,
    renewAt: new Date((now + notAfter.getTime()) / 2),
  };
}

/**
 * Hands a certificate to `use`, and returns what is to be called now and then: it hands over a new one where half of the
 * last one's life is over, or where the clock was set back to before its beginning.
 */
export async function keepServingCertificate(
  ca: Ca,
  names: readonly string[],
  use: (certificate: ServingCertificate) => Promise<void>,
): Promise<() => Promise<void>> {
  let current = await makeServingCertificate(ca, names);
  await use(current);
  return async () => {
    const now = ca.clock.now();
    if (now >= current.notBefore && now < current.renewAt) return;
    const next = await makeServingCertificate(ca, names);
    await use(next);
    current = next;
  };
}
