// Certificate signing requests (RFC 2986): read strictly into facts for the policy, verified, and built for CAs.
import { isIP } from 'node:net';
import type { LeafKeyType } from './algorithms.ts';
import {
  bytesOf,
  childrenOf,
  contextConstructed,
  type DerNode,
  elementsOf,
  onlyChildOf,
  parseDer,
  readOid,
  readSmallInteger,
  tags,
} from './der.ts';
import { encodeDer, implicitSequence, integer, oid, raw, sequence, setOfOne } from './der-writer.ts';
import { type Extensions, noExtensions, parseExtensions } from './extension-reader.ts';
import { type Extension, encodeExtensions } from './extensions.ts';
import type { SubjectName } from './general-name.ts';
import { formatAddress, parseAddress } from './ip-address.ts';
import { type CheckedPublicKey, checkPublicKey } from './key-policy.ts';
import { type DistinguishedName, parseName } from './name.ts';
import { oids } from './oids.ts';
import { readOnlyPem, toPem } from './pem.ts';
import { readSignatureAlgorithm } from './signature-algorithm.ts';
import { assembleSigned, readSigned, type Signed } from './signed.ts';
import { type Signer, verifySignature } from './signer.ts';
import { parseSpki } from './spki.ts';
import { malformed, X509Error } from './x509-error.ts';

export type Csr = Signed & {
  readonly der: Buffer;
  readonly subject: DistinguishedName;
  /** DER SubjectPublicKeyInfo, the request's own bytes. */
  readonly spki: Buffer;
  readonly keyType: LeafKeyType;
  /** CN values as they were written; empty ones, which some clients send, name nothing. */
  readonly commonNames: readonly string[];
  /** SAN in its order, then each CN that is not in it, every name once; a CN that is an IP literal counts as ip (FIN-3). */
  readonly names: readonly SubjectName[];
  /** Kinds of SAN entries that nobody gets here, like `email`. */
  readonly otherNameKinds: readonly string[];
  readonly requestsCa: boolean;
  readonly mustStaple: boolean;
  readonly unknownCriticalExtensions: readonly string[];
};

const WHAT = 'the CSR';
const MAX_ATTRIBUTES = 50;

/** Throws X509Error for everything that is not one version 1 request with an accepted key and signature algorithm. */
export function parseCsr(der: Buffer): Csr {
  const { content, algorithm, signed } = readSigned(parseDer(der, WHAT), WHAT);
  readSignatureAlgorithm(algorithm, WHAT);
  const elements = elementsOf(content, tags.sequence, WHAT);
  if (readSmallInteger(elements.next('version'), 'the version of the CSR') !== 0) {
    throw malformed('the version of the CSR', 'is not 1, the only one there is');
  }
  const subject = parseName(elements.next('subject'), 'the subject of the CSR');
  const publicKey = elements.next('public key');
  const extensions = readRequestedExtensions(elements.nextIf(contextConstructed(0)));
  elements.end();
  const altNames = extensions.subjectAltNames ?? [];
  const commonNames = subject.attributes.flatMap(({ field, value }) => (field === 'CN' && value !== '' ? [value] : []));
  return {
    ...signed,
    der,
    subject,
    spki: bytesOf(publicKey),
    keyType: parseSpki(publicKey, 'the public key of the CSR').keyType,
    commonNames,
    names: uniqueNames([...altNames.filter(isSubjectName), ...commonNames.map(nameOfCommonName)]),
    otherNameKinds: altNames.flatMap((name) => (isSubjectName(name) ? [] : [name.type === 'uri' ? 'uri' : name.value])),
    requestsCa: extensions.basicConstraints?.ca ?? false,
    mustStaple: extensions.mustStaple ?? false,
    unknownCriticalExtensions: extensions.unknownCritical,
  };
}

/** The key policy and the proof that the requester has the key. Throws `weak_key`, `malformed` or `bad_signature`. */
export async function verifyCsr({ spki, signatureAlgorithm, tbs, signature }: Csr): Promise<CheckedPublicKey> {
  const checked = checkPublicKey(spki, 'the public key of the CSR');
  if (await verifySignature(checked.key, signatureAlgorithm, tbs, signature)) return checked;
  throw new X509Error('bad_signature', 'the CSR is not signed by the key that it holds. Make a new CSR with that key.');
}

/** DER of the only block of PEM text. */
export const readCsrPem = (text: string): Csr =>
  parseCsr(readOnlyPem(text, WHAT, ['CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST'], {}).der);

export const csrPem = (der: Buffer): string => toPem('CERTIFICATE REQUEST', der);

/** A request by `signer` for its own key. */
export async function buildCsr(
  { subject, extensions }: { readonly subject: Buffer; readonly extensions: readonly Extension[] },
  signer: Signer,
): Promise<Buffer> {
  const request = sequence(oid(oids.extensionRequest), setOfOne(encodeExtensions(extensions)));
  const attributes = implicitSequence(0, extensions.length > 0 ? request : undefined);
  const tbs = encodeDer(sequence(integer(0), raw(subject), raw(signer.spki), attributes));
  return assembleSigned(tbs, signer.keyType, await signer.sign(tbs));
}

/** The attributes are `[0] IMPLICIT SET OF`; all but the extension request mean nothing here. */
function readRequestedExtensions(attributes: DerNode | undefined): Extensions {
  if (attributes === undefined) return noExtensions;
  const children = childrenOf(attributes, contextConstructed(0), WHAT);
  if (children.length > MAX_ATTRIBUTES)
    throw new X509Error('too_large', `${WHAT} has more than ${MAX_ATTRIBUTES} attributes.`);
  const requests = children.map(readAttribute).filter(({ type }) => type === oids.extensionRequest);
  if (requests.length > 1) throw malformed(WHAT, 'has two extension requests');
  const [request] = requests;
  if (request === undefined) return noExtensions;
  return parseExtensions(onlyChildOf(request.values, tags.set, 'the extension request of the CSR'), 'the CSR');
}

function readAttribute(node: DerNode): { readonly type: string; readonly values: DerNode } {
  const elements = elementsOf(node, tags.sequence, 'an attribute of the CSR');
  const type = readOid(elements.next('type'), 'an attribute of the CSR');
  const values = elements.next('values');
  elements.end();
  return { type, values };
}

const isSubjectName = (name: { readonly type: string }): name is SubjectName =>
  name.type === 'dns' || name.type === 'ip';

function nameOfCommonName(value: string): SubjectName {
  // A-Z alone, as names are compared: toLowerCase() would make a k of the Kelvin sign.
  const lowerCase = value.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  if (value.includes('%') || isIP(value) === 0) return { type: 'dns', value: lowerCase };
  return { type: 'ip', value: formatAddress(parseAddress(value)) };
}

function uniqueNames(names: readonly SubjectName[]): readonly SubjectName[] {
  return [...new Map(names.map((name) => [`${name.type}:${name.value}`, name])).values()];
}
