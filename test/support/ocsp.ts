// OCSP as a client speaks it: requests with every part to choose, and answers taken apart and verified.
import { createHash } from 'node:crypto';
import { isCaKeyType, keyAlgorithms } from '../../src/x509/algorithms.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { readCertificatePem } from '../../src/x509/certificate-pem.ts';
import { crlReasons } from '../../src/x509/crl.ts';
import {
  bytesOf,
  childrenOf,
  contentsOf,
  contextConstructed,
  contextPrimitive,
  elementsOf,
  onlyChildOf,
  parseDer,
  readBits,
  readOctets,
  readOid,
  readTime,
  tags,
} from '../../src/x509/der.ts';
import { encodeDer, explicit, integer, nullValue, octetString, oid, sequence } from '../../src/x509/der-writer.ts';
import { parseExtensions } from '../../src/x509/extension-reader.ts';
import { encodeExtensions } from '../../src/x509/extensions.ts';
import { keyHashOf } from '../../src/x509/ocsp-response.ts';
import { oids } from '../../src/x509/oids.ts';
import { verifySignature } from '../../src/x509/signer.ts';

type Wanted = {
  readonly hash?: 'sha1' | 'sha256';
  readonly nonce?: Buffer;
  /** PEM of another certificate whose name is taken for that of the CA. */
  readonly named?: string;
};

/** About these serial numbers of the CA with this certificate. */
export function ocspRequest(
  issuerPem: string,
  serials: readonly Buffer[],
  { hash = 'sha1', nonce, named = issuerPem }: Wanted = {},
): Buffer {
  const { spki } = readCertificatePem(issuerPem);
  const { subject } = readCertificatePem(named);
  const requests = serials.map((serial) =>
    sequence(
      sequence(
        sequence(oid(oids[hash]), nullValue()),
        octetString(createHash(hash).update(subject.der).digest()),
        octetString(keyHashOf(spki, hash)),
        integer(serial),
      ),
    ),
  );
  const extension = nonce && { oid: oids.ocspNonce, critical: false, value: encodeDer(octetString(nonce)) };
  const extensions = extension && explicit(2, encodeExtensions([extension]));
  return encodeDer(sequence(sequence(sequence(...requests), extensions)));
}

export type ReadAnswer = {
  /** 0: there is an answer. */
  readonly code: number;
  /** `good`, `unknown`, `revoked: keyCompromise`. */
  readonly statuses: readonly string[];
  readonly thisUpdate: Date;
  readonly nextUpdate: Date;
  readonly nonce: Buffer | undefined;
  /** Of the responder: DER. */
  readonly certificate: Buffer;
};

/** Throws where the answer is not signed by the certificate in it, or that not by the issuer. */
export async function readOcspAnswer(der: Buffer, issuerPem: string): Promise<ReadAnswer> {
  const outer = elementsOf(parseDer(der, 'the answer'), tags.sequence, 'the answer');
  const [code = -1] = contentsOf(outer.next('code'), tags.enumerated, 'the code');
  const nothing = Buffer.alloc(0);
  if (code !== 0)
    return {
      code,
      statuses: [],
      thisUpdate: new Date(0),
      nextUpdate: new Date(0),
      nonce: undefined,
      certificate: nothing,
    };
  const bytes = elementsOf(onlyChildOf(outer.next('bytes'), contextConstructed(0), 'bytes'), tags.sequence, 'bytes');
  if (readOid(bytes.next('type'), 'type') !== oids.ocspBasic) throw new Error('not a basic answer');
  const basic = elementsOf(parseDer(readOctets(bytes.next('basic'), 'basic'), 'basic'), tags.sequence, 'basic');
  const data = basic.next('data');
  const algorithm = bytesOf(basic.next('algorithm'));
  const signature = readBits(basic.next('signature'), 'signature');
  const certificates = onlyChildOf(basic.next('certificates'), contextConstructed(0), 'certificates');
  const certificate = bytesOf(onlyChildOf(certificates, tags.sequence, 'certificates'));
  await verify(bytesOf(data), algorithm, signature, certificate, issuerPem);
  const fields = elementsOf(data, tags.sequence, 'data');
  const name = onlyChildOf(fields.next('responder'), contextConstructed(2), 'responder');
  if (!readOctets(name, 'responder').equals(keyHashOf(parseCertificate(certificate).spki, 'sha1')))
    throw new Error('the responder is named by another key');
  readTime(fields.next('producedAt'), 'producedAt');
  const statements = childrenOf(fields.next('responses'), tags.sequence, 'responses').map((node) => {
    const parts = elementsOf(node, tags.sequence, 'response');
    parts.next('certId');
    const status = parts.next('status');
    const thisUpdate = readTime(parts.next('thisUpdate'), 'thisUpdate');
    const nextUpdate = readTime(onlyChildOf(parts.next('nextUpdate'), contextConstructed(0), 'next'), 'nextUpdate');
    return { status: statusText(status), thisUpdate, nextUpdate };
  });
  const extensions = fields.nextIf(contextConstructed(1));
  const nonce =
    extensions &&
    parseExtensions(onlyChildOf(extensions, contextConstructed(1), 'extensions'), 'the answer').all.find(
      (extension) => extension.oid === oids.ocspNonce,
    );
  const [first] = statements;
  if (first === undefined) throw new Error('an answer about nothing');
  return {
    code,
    statuses: statements.map(({ status }) => status),
    thisUpdate: first.thisUpdate,
    nextUpdate: first.nextUpdate,
    nonce: nonce && readOctets(parseDer(nonce.value, 'nonce'), 'nonce'),
    certificate,
  };
}

function statusText(node: ReturnType<typeof parseDer>): string {
  if (node.tag === contextPrimitive(0)) return 'good';
  if (node.tag === contextPrimitive(2)) return 'unknown';
  const revoked = elementsOf(node, contextConstructed(1), 'revoked');
  readTime(revoked.next('time'), 'revocation time');
  const reason = revoked.nextIf(contextConstructed(0));
  const [code = 0] =
    reason === undefined
      ? []
      : contentsOf(onlyChildOf(reason, contextConstructed(0), 'reason'), tags.enumerated, 'reason');
  return `revoked: ${crlReasons[code]}`;
}

async function verify(data: Buffer, algorithm: Buffer, signature: Buffer, certificate: Buffer, issuerPem: string) {
  const responder = parseCertificate(certificate);
  const issuer = readCertificatePem(issuerPem);
  const isIssued = await verifySignature(issuer.spki, responder.signatureAlgorithm, responder.tbs, responder.signature);
  const { keyType = 'ed25519' } = responder;
  const isRight = isCaKeyType(keyType) && keyAlgorithms[keyType].signature.algorithm.equals(algorithm);
  if (!isIssued || !isRight || !(await verifySignature(responder.spki, algorithm, data, signature)))
    throw new Error('the answer is not signed by who may');
}
