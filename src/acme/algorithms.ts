// The JWS algorithms that requests may be signed with (RFC 7518, RFC 8037): all that is known about each, one row each.
import type { KeyObject } from 'node:crypto';

export type SignatureAlgorithm = {
  readonly keyType: 'ec' | 'rsa' | 'ed25519';
  /** As node:crypto names it. */
  readonly curve?: string;
  /** Undefined where the algorithm hashes by itself. */
  readonly hash?: string;
  /** Undefined: that of the key's modulus. */
  readonly signatureBytes?: number;
  /** A check takes longer than handing it to a thread and back, which is a tenth of a millisecond. */
  readonly isSlow?: true;
};

/** JWS-5. */
const signatureAlgorithms: Readonly<Record<string, SignatureAlgorithm>> = {
  ES256: { keyType: 'ec', curve: 'prime256v1', hash: 'sha256', signatureBytes: 64 },
  ES384: { keyType: 'ec', curve: 'secp384r1', hash: 'sha384', signatureBytes: 96, isSlow: true },
  ES512: { keyType: 'ec', curve: 'secp521r1', hash: 'sha512', signatureBytes: 132, isSlow: true },
  EdDSA: { keyType: 'ed25519', signatureBytes: 64 },
  RS256: { keyType: 'rsa', hash: 'sha256' },
};

/** What `badSignatureAlgorithm` tells clients (RFC 8555 section 6.2). */
export const signatureAlgorithmNames: readonly string[] = Object.keys(signatureAlgorithms);

/** Undefined for a name that is not accepted, names of every object included. */
export const signatureAlgorithm = (name: string): SignatureAlgorithm | undefined =>
  Object.hasOwn(signatureAlgorithms, name) ? signatureAlgorithms[name] : undefined;

/** JWS-6. */
export const fitsKey = ({ keyType, curve }: SignatureAlgorithm, key: KeyObject): boolean =>
  key.asymmetricKeyType === keyType && (curve === undefined || key.asymmetricKeyDetails?.namedCurve === curve);
