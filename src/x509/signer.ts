// Signatures off the event loop: a private key as something that signs and shows its public half, and the check of one.
import { constants, type KeyObject, sign, verify } from 'node:crypto';
import { promisify } from 'node:util';
import { isCaKeyType, type KeyType, keyAlgorithms } from './algorithms.ts';
import { parseDer } from './der.ts';
import type { PrivateKey } from './private-key.ts';
import { readSignatureAlgorithm, type SignatureAlgorithm } from './signature-algorithm.ts';
import { importPublicKey, unsupportedKey } from './spki.ts';

export type Signer = {
  readonly keyType: KeyType;
  /** DER SubjectPublicKeyInfo of the public half. */
  readonly spki: Buffer;
  /** Signs to-be-signed bytes by the key type's one algorithm; ECDSA signatures are DER. */
  sign(tbs: Buffer): Promise<Buffer>;
};

// Only the callback forms leave the event loop free. Handing work to a thread and back takes a tenth of a millisecond of
// both, so what takes less is done at once: all that is done with P-256 and Ed25519, and the check of RSA signatures.
const signAsync = promisify(sign);
const verifyAsync = promisify(verify);
const slowCurves = new Set(['secp384r1', 'secp521r1']);

export function signerOf({ keyType, key, spki }: PrivateKey): Signer {
  if (!isCaKeyType(keyType)) throw unsupportedKey('the signing key', 'an Ed25519 key, which no CA key may be');
  const { hash = null } = keyAlgorithms[keyType].signature;
  const isQuick = keyType === 'ec_256';
  return { keyType, spki, sign: async (tbs) => (isQuick ? sign(hash, tbs, key) : signAsync(hash, tbs, key)) };
}

/**
 * Whether `signature` over `data` is by this public key. `algorithm` is a DER AlgorithmIdentifier; throws
 * `unsupported_algorithm` or `unsupported_key` for what is not accepted. An algorithm of another key family is simply not a signature.
 */
export async function verifySignature(
  publicKey: Buffer | KeyObject,
  algorithm: Buffer,
  data: Buffer,
  signature: Buffer,
): Promise<boolean> {
  const row = readSignatureAlgorithm(parseDer(algorithm, 'the signature algorithm'), 'It');
  const key = Buffer.isBuffer(publicKey) ? importPublicKey(publicKey, 'the public key of the signer') : publicKey;
  if (key.asymmetricKeyType !== row.family) return false;
  const check = slowCurves.has(key.asymmetricKeyDetails?.namedCurve ?? '') ? verifyAsync : verify;
  return check(row.hash, data, { key, ...paddingOf(row) }, signature);
}

function paddingOf({ family, saltLength }: SignatureAlgorithm): { padding?: number; saltLength?: number } {
  if (family !== 'rsa') return {};
  if (saltLength === undefined) return { padding: constants.RSA_PKCS1_PADDING };
  return { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength };
}
