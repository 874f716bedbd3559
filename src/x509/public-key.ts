// Public keys as people hand them in: one PEM block PUBLIC KEY.
import { type CheckedPublicKey, checkPublicKey } from './key-policy.ts';
import { readOnlyPem, toPem } from './pem.ts';

const WHAT = 'the public key';
const LABEL = 'PUBLIC KEY';
const FROM_PRIVATE = 'It is a private key: keep it secret, and give the output of: openssl pkey -in KEY.pem -pubout';
const HINTS: Readonly<Record<string, string>> = {
  CERTIFICATE: 'Give the output of: openssl x509 -in CERT.pem -pubkey -noout',
  'RSA PUBLIC KEY': 'Give the output of: openssl rsa -RSAPublicKey_in -in KEY.pem -pubout',
  'PRIVATE KEY': FROM_PRIVATE,
  'RSA PRIVATE KEY': FROM_PRIVATE,
  'EC PRIVATE KEY': FROM_PRIVATE,
  'ENCRYPTED PRIVATE KEY': FROM_PRIVATE,
};

/** Throws X509Error for everything that is not exactly one accepted, strong key. */
export const readPublicKey = (pem: string): CheckedPublicKey =>
  checkPublicKey(readOnlyPem(pem, WHAT, [LABEL], HINTS).der, WHAT);

export const publicKeyPem = (spki: Buffer): string => toPem(LABEL, spki);
