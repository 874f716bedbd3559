// The name of a public key (RFC 7638): one value for a key, whatever form it comes in.
import { createHash, type KeyObject } from 'node:crypto';

/** The members that RFC 7638 section 3.2 and RFC 8037 appendix A.3 want, in their order. */
const members: Readonly<Record<string, readonly ('crv' | 'e' | 'kty' | 'n' | 'x' | 'y')[]>> = {
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
  RSA: ['e', 'kty', 'n'],
};

/** The 32 bytes of the SHA-256 thumbprint of a public key. */
export function thumbprintOf(key: KeyObject): Buffer {
  const jwk = key.export({ format: 'jwk' });
  const names = members[jwk.kty ?? ''];
  if (names === undefined) throw new RangeError(`A key of type ${jwk.kty} has no thumbprint.`);
  const required = Object.fromEntries(names.map((name) => [name, jwk[name]]));
  return createHash('sha256').update(JSON.stringify(required)).digest();
}
