// Signing off the event loop: a private key as something that signs and shows its public half, nothing else.
import type { KeyType } from './algorithms.ts';

export type Signer = {
  readonly keyType: KeyType;
  /** DER SubjectPublicKeyInfo of the public half. */
  readonly spki: Buffer;
  /** Signs to-be-signed bytes by the key type's one algorithm; ECDSA signatures are DER. */
  sign(tbs: Buffer): Promise<Buffer>;
};
