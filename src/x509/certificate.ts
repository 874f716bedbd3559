// Certificates (RFC 5280 section 4): to-be-signed bytes built, and DER read strictly into a plain object.
import { randomBytes } from 'node:crypto';
import { type KeyType, keyAlgorithms, type LeafKeyType } from './algorithms.ts';
import {
  bytesOf,
  contentsOf,
  contextConstructed,
  contextPrimitive,
  type DerNode,
  elementsOf,
  onlyChildOf,
  parseDer,
  readSmallInteger,
  readTime,
  tags,
} from './der.ts';
import { encodeDer, explicit, integer, raw, sequence, time } from './der-writer.ts';
import { type Extensions, noExtensions, parseExtensions } from './extension-reader.ts';
import { type Extension, encodeExtensions } from './extensions.ts';
import { type DistinguishedName, parseName } from './name.ts';
import { assembleSigned, readSigned, type Signed } from './signed.ts';
import { verifySignature } from './signer.ts';
import { keyTypeOf } from './spki.ts';
import { malformed } from './x509-error.ts';

export type CertificateFields = {
  /** Big-endian octets, positive. */
  readonly serial: Buffer;
  /** DER of the issuer's subject name, byte for byte. */
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** DER SubjectPublicKeyInfo, copied as it is. */
  readonly spki: Buffer;
  readonly extensions: readonly Extension[];
  /** Key type of the issuer: it decides the signature algorithm. */
  readonly issuerKeyType: KeyType;
};

type Contents = {
  readonly version: 1 | 2 | 3;
  /** Big-endian octets without a leading zero; `toString('hex')` gives the text form. */
  readonly serial: Buffer;
  readonly issuer: DistinguishedName;
  readonly subject: DistinguishedName;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly spki: Buffer;
  readonly extensions: Extensions;
};

/** What is to be signed, with the DER AlgorithmIdentifier that it names itself. */
export type TbsCertificate = Contents & { readonly signatureAlgorithm: Buffer };

export type Certificate = Signed &
  Contents & {
    readonly der: Buffer;
    /** Undefined for keys that are not accepted here. */
    readonly keyType: LeafKeyType | undefined;
  };

const SERIAL_OCTETS = 17;
const V3 = 2;

/** SEC-27: 17 octets, the first 0x01 to 0x7f, so that 16 are fully random and the length is always the same. */
export function newSerial(random: (size: number) => Buffer = randomBytes): Buffer {
  const serial = Buffer.from(random(SERIAL_OCTETS));
  serial.writeUInt8(1 + (serial.readUInt8(0) % 0x7f), 0);
  return serial;
}

/** A version 3 TBSCertificate. Times are cut to whole seconds. */
export function buildTbsCertificate(fields: CertificateFields): Buffer {
  return encodeDer(
    sequence(
      explicit(0, integer(V3)),
      integer(fields.serial),
      raw(keyAlgorithms[fields.issuerKeyType].signature.algorithm),
      raw(fields.issuer),
      sequence(time(fields.notBefore), time(fields.notAfter)),
      raw(fields.subject),
      raw(fields.spki),
      fields.extensions.length > 0 ? explicit(3, encodeExtensions(fields.extensions)) : undefined,
    ),
  );
}

export const assembleCertificate: (tbs: Buffer, issuerKeyType: KeyType, signature: Buffer) => Buffer = assembleSigned;

/** Throws X509Error for everything that is not one certificate in canonical DER. Verifies nothing. */
export function parseCertificate(der: Buffer, what = 'the certificate'): Certificate {
  const { content, signed } = readSigned(parseDer(der, what), what);
  const contents = readTbs(content, what);
  if (!contents.signatureAlgorithm.equals(signed.signatureAlgorithm))
    throw malformed(what, 'names two different signature algorithms');
  return { ...contents, ...signed, der, keyType: keyTypeOf(contents.spki) };
}

/** The part of a certificate that is signed, before it is. Throws as parseCertificate does. */
export const parseTbsCertificate = (tbs: Buffer, what = 'the certificate to be signed'): TbsCertificate =>
  readTbs(parseDer(tbs, what), what);

/** Whether the issuer's key made the signature; throws X509Error where key or algorithm is not accepted. Names and dates are not looked at. */
export const isSignedBy = (signed: Signed, issuerSpki: Buffer): Promise<boolean> =>
  verifySignature(issuerSpki, signed.signatureAlgorithm, signed.tbs, signed.signature);

/** A serial number: not negative, at most 20 octets; 21 with the leading zero that some CAs have added. */
export function readSerial(node: DerNode, what: string): Buffer {
  const contents = contentsOf(node, tags.integer, what);
  const [first = 0x80] = contents;
  if (first >= 0x80) throw malformed(what, 'is empty or negative');
  if (contents.length > 21) throw malformed(what, 'is longer than 20 octets');
  return first === 0 && contents.length > 1 ? contents.subarray(1) : contents;
}

function readTbs(content: DerNode, what: string): TbsCertificate {
  const elements = elementsOf(content, tags.sequence, what);
  const version = readVersion(elements.nextIf(contextConstructed(0)), what);
  const serial = readSerial(elements.next('serial number'), `the serial number of ${what}`);
  const signatureAlgorithm = bytesOf(elements.next('signature algorithm'));
  const issuer = parseName(elements.next('issuer'), `the issuer of ${what}`);
  const validity = elementsOf(elements.next('validity'), tags.sequence, what);
  const notBefore = readTime(validity.next('start'), `the start of the validity of ${what}`);
  const notAfter = readTime(validity.next('end'), `the end of the validity of ${what}`);
  validity.end();
  const subject = parseName(elements.next('subject'), `the subject of ${what}`);
  const spki = bytesOf(elements.next('public key'));
  elements.nextIf(contextPrimitive(1));
  elements.nextIf(contextPrimitive(2));
  const extensions = readExtensions(elements.nextIf(contextConstructed(3)), version, what);
  elements.end();
  return { version, serial, signatureAlgorithm, issuer, subject, notBefore, notAfter, spki, extensions };
}

function readVersion(node: DerNode | undefined, what: string): 1 | 2 | 3 {
  if (node === undefined) return 1;
  const where = `the version of ${what}`;
  const version = readSmallInteger(onlyChildOf(node, contextConstructed(0), where), where);
  if (version !== 1 && version !== 2) throw malformed(where, 'is not 1, 2 or 3');
  return version === 1 ? 2 : 3;
}

function readExtensions(node: DerNode | undefined, version: number, what: string): Extensions {
  if (node === undefined) return noExtensions;
  if (version !== 3) throw malformed(what, 'has extensions without being of version 3');
  return parseExtensions(onlyChildOf(node, contextConstructed(3), what), what);
}
