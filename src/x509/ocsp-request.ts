// OCSP requests (RFC 6960 section 4.1) as they are read: which certificates are asked about, and the nonce.
import { readSerial } from './certificate.ts';
import {
  bytesOf,
  childrenOf,
  contextConstructed,
  type DerNode,
  elementsOf,
  onlyChildOf,
  parseDer,
  readNull,
  readOctets,
  readOid,
  readSmallInteger,
  tags,
} from './der.ts';
import { type Extensions, noExtensions, parseExtensions } from './extension-reader.ts';
import { oids } from './oids.ts';
import { malformed, X509Error } from './x509-error.ts';

/** Digests that CertIDs are made with, by the names of node:crypto. */
const ocspHashes = {
  sha1: { oid: oids.sha1, octets: 20 },
  sha256: { oid: oids.sha256, octets: 32 },
} as const;
export type OcspHash = keyof typeof ocspHashes;

export type OcspCertId = {
  /** As it was sent: it stands in the answer byte for byte. */
  readonly der: Buffer;
  /** Undefined for a digest that nothing here is compared by. */
  readonly hash: OcspHash | undefined;
  readonly issuerNameHash: Buffer;
  readonly issuerKeyHash: Buffer;
  /** Big-endian octets without a leading zero. */
  readonly serial: Buffer;
};

export type OcspRequest = {
  /** One or more. */
  readonly certIds: readonly OcspCertId[];
  readonly nonce: Buffer | undefined;
};

export const MAX_OCSP_REQUEST_BYTES = 16_384;
const MAX_REQUESTS = 20;
/** RFC 9654 section 2.1. */
const MAX_NONCE_OCTETS = 128;
const WHAT = 'the OCSP request';
/** Of the critical ones these alone are understood; of the answers that a client can accept all know the basic one. */
const understood: ReadonlySet<string> = new Set([oids.ocspNonce, oids.ocspAcceptableResponses]);

/** Throws X509Error for everything that is not one request in canonical DER. The name and signature of who asks are not looked at. */
export function parseOcspRequest(der: Buffer): OcspRequest {
  const outer = elementsOf(parseDer(der, WHAT, MAX_OCSP_REQUEST_BYTES), tags.sequence, WHAT);
  const request = elementsOf(outer.next('content'), tags.sequence, WHAT);
  const signature = outer.nextIf(contextConstructed(0));
  outer.end();
  if (signature !== undefined) onlyChildOf(signature, contextConstructed(0), 'the signature of the OCSP request');
  checkVersion(request.nextIf(contextConstructed(0)));
  const name = request.nextIf(contextConstructed(1));
  if (name !== undefined) onlyChildOf(name, contextConstructed(1), 'the requestor of the OCSP request');
  const list = childrenOf(request.next('list'), tags.sequence, WHAT);
  const extensions = readExtensions(request.nextIf(contextConstructed(2)), contextConstructed(2));
  request.end();
  if (list.length === 0) throw malformed(WHAT, 'asks about no certificate');
  if (list.length > MAX_REQUESTS)
    throw new X509Error('too_large', `${WHAT} asks about more than ${MAX_REQUESTS} certificates.`);
  return { certIds: list.map(readRequest), nonce: nonceIn(extensions) };
}

function checkVersion(node: DerNode | undefined): void {
  if (node === undefined) return;
  // Written out it is not DER, but harmless.
  readSmallInteger(onlyChildOf(node, contextConstructed(0), WHAT), 'the version of the OCSP request', 0);
}

function readRequest(node: DerNode): OcspCertId {
  const elements = elementsOf(node, tags.sequence, WHAT);
  const certId = elements.next('CertID');
  readExtensions(elements.nextIf(contextConstructed(0)), contextConstructed(0));
  elements.end();
  return readCertId(certId);
}

function readCertId(node: DerNode): OcspCertId {
  const what = 'a CertID of the OCSP request';
  const elements = elementsOf(node, tags.sequence, what);
  const hash = readHash(elements.next('hash algorithm'), what);
  const issuerNameHash = readOctets(elements.next('name hash'), what);
  const issuerKeyHash = readOctets(elements.next('key hash'), what);
  const serial = readSerial(elements.next('serial number'), 'a serial number in the OCSP request');
  elements.end();
  const octets = hash === undefined ? issuerNameHash.length : ocspHashes[hash].octets;
  if (issuerNameHash.length !== octets || issuerKeyHash.length !== octets)
    throw malformed(what, 'has hashes of another length than its algorithm gives');
  return { der: bytesOf(node), hash, issuerNameHash, issuerKeyHash, serial };
}

function readHash(node: DerNode, what: string): OcspHash | undefined {
  const elements = elementsOf(node, tags.sequence, what);
  const identifier = readOid(elements.next('identifier'), what);
  const known = hashByOid.get(identifier);
  if (known === undefined) return undefined;
  const parameters = elements.nextIf(tags.null);
  if (parameters !== undefined) readNull(parameters, what);
  elements.end();
  return known;
}

const hashByOid: ReadonlyMap<string, OcspHash> = new Map([
  [ocspHashes.sha1.oid, 'sha1'],
  [ocspHashes.sha256.oid, 'sha256'],
]);

/** RFC 6960 section 4.4: what is unknown is ignored unless it is critical. */
function readExtensions(node: DerNode | undefined, tag: number): Extensions {
  if (node === undefined) return noExtensions;
  const extensions = parseExtensions(onlyChildOf(node, tag, WHAT), WHAT);
  const unknown = extensions.unknownCritical.find((identifier) => !understood.has(identifier));
  if (unknown === undefined) return extensions;
  throw new X509Error('bad_extension', `${WHAT} has the unknown critical extension ${unknown}.`);
}

function nonceIn({ all }: Extensions): Buffer | undefined {
  const extension = all.find(({ oid }) => oid === oids.ocspNonce);
  if (extension === undefined) return undefined;
  const what = 'the nonce of the OCSP request';
  const nonce = readOctets(parseDer(extension.value, what), what);
  if (nonce.length >= 1 && nonce.length <= MAX_NONCE_OCTETS) return nonce;
  throw malformed(what, `is not 1 to ${MAX_NONCE_OCTETS} octets long`);
}
