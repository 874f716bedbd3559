// The frame that certificates, requests and lists share: to-be-signed bytes, signature algorithm, signature.
import { type KeyType, keyAlgorithms } from './algorithms.ts';
import { bytesOf, type DerNode, elementsOf, readBits, tags } from './der.ts';
import { bitString, type Encodable, encodeDer, raw, sequence } from './der-writer.ts';

export type Signed = {
  /** The bytes that the signature covers. */
  readonly tbs: Buffer;
  /** DER AlgorithmIdentifier. */
  readonly signatureAlgorithm: Buffer;
  readonly signature: Buffer;
};

/** `keyType` is that of the key that made the signature. OCSP answers have something behind it, outside of what is signed. */
export const assembleSigned = (tbs: Buffer, keyType: KeyType, signature: Buffer, behind?: Encodable): Buffer =>
  encodeDer(sequence(raw(tbs), raw(keyAlgorithms[keyType].signature.algorithm), bitString(signature), behind));

/** The parts, and the nodes of the first two. */
export function readSigned(
  node: DerNode,
  what: string,
): { readonly content: DerNode; readonly algorithm: DerNode; readonly signed: Signed } {
  const elements = elementsOf(node, tags.sequence, what);
  const content = elements.next('signed part');
  const algorithm = elements.next('signature algorithm');
  const signature = readBits(elements.next('signature'), `the signature of ${what}`);
  elements.end();
  return { content, algorithm, signed: { tbs: bytesOf(content), signatureAlgorithm: bytesOf(algorithm), signature } };
}
