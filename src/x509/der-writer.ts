// Writing DER: one small function per ASN.1 type, giving nodes that `encodeDer` turns into bytes.
import asn1, { type Asn1 } from 'node-forge/lib/asn1.js';
import { contextConstructed, contextPrimitive, tags } from './der.ts';

/** A node to be written. Its whole identifier octet stands in `type`, so forge applies no rule of its own to it. */
export type Encodable = Asn1;

export const encodeDer = (node: Encodable): Buffer => Buffer.from(asn1.toDer(node).getBytes(), 'latin1');

/** Absent optional elements may be passed as undefined. */
export const sequence = (...children: readonly (Encodable | undefined)[]): Encodable => parent(tags.sequence, children);

/** SET OF with one member: the only kind written here, so no sorting is needed. */
export const setOfOne = (member: Encodable): Encodable => parent(tags.set, [member]);

export const emptySet = (): Encodable => parent(tags.set, []);

export const explicit = (number: number, child: Encodable): Encodable => parent(contextConstructed(number), [child]);

/** `[n] IMPLICIT` of a SEQUENCE or SET. */
export const implicitSequence = (number: number, ...children: readonly (Encodable | undefined)[]): Encodable =>
  parent(contextConstructed(number), children);

/** `[n] IMPLICIT` of a primitive type with these contents. */
export const implicit = (number: number, contents: Buffer): Encodable => leaf(contextPrimitive(number), contents);

export const boolean = (value: boolean): Encodable => leaf(tags.boolean, Buffer.of(value ? 0xff : 0x00));

export const nullValue = (): Encodable => leaf(tags.null, Buffer.alloc(0));

export const oid = (dotted: string): Encodable => asn1.create(0, tags.oid, false, asn1.oidToDer(dotted).getBytes());

/** A non-negative INTEGER from its value or from its big-endian octets. */
export function integer(value: bigint | number | Buffer): Encodable {
  const hex = Buffer.isBuffer(value) ? value.toString('hex') : value.toString(16);
  const digits = hex.replace(/^0+/, '').padStart(1, '0');
  const magnitude = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
  const isHigh = (magnitude[0] ?? 0) >= 0x80;
  return leaf(tags.integer, isHigh ? Buffer.concat([Buffer.of(0), magnitude]) : magnitude);
}

export const enumerated = (value: number): Encodable => leaf(tags.enumerated, Buffer.of(value));

export const octetString = (contents: Buffer): Encodable => leaf(tags.octetString, contents);

/** BIT STRING of whole octets. */
export const bitString = (contents: Buffer): Encodable => leaf(tags.bitString, Buffer.concat([Buffer.of(0), contents]));

/** BIT STRING with named bits, without trailing zeros as DER wants it. */
export function namedBits(numbers: readonly number[]): Encodable {
  const highest = Math.max(...numbers);
  const octets = Buffer.alloc((highest >> 3) + 1);
  for (const bit of numbers) octets[bit >> 3] = (octets[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
  return leaf(tags.bitString, Buffer.concat([Buffer.of(7 - (highest & 7)), octets]));
}

export const utf8 = (text: string): Encodable => leaf(tags.utf8String, Buffer.from(text, 'utf8'));
export const printable = (text: string): Encodable => leaf(tags.printableString, Buffer.from(text, 'latin1'));

/** UTCTime to 2049, GeneralizedTime after (RFC 5280 section 4.1.2.5). Fractions of a second are cut off. */
export function time(value: Date): Encodable {
  const year = value.getUTCFullYear();
  if (year < 1950 || year > 9999) throw new RangeError(`A certificate cannot express the year ${year}.`);
  return year < 2050 ? leaf(tags.utcTime, Buffer.from(timeText(value).slice(2), 'latin1')) : generalizedTime(value);
}

/** What OCSP writes for every year. Fractions of a second are cut off. */
export const generalizedTime = (value: Date): Encodable =>
  leaf(tags.generalizedTime, Buffer.from(timeText(value), 'latin1'));

/** An element that is encoded already; its bytes are copied as they are. */
export function raw(der: Buffer): Encodable {
  const [tag = 0, length = 0] = der;
  return leaf(tag, der.subarray(length < 0x80 ? 2 : 2 + (length & 0x7f)));
}

/** `[n] IMPLICIT` of a SET whose members are encoded already: one node for any number of them. */
export const implicitSetOfRaw = (number: number, members: Buffer): Encodable =>
  leaf(contextConstructed(number), members);

/** A SEQUENCE whose children are encoded already, one after the other: one node for any number of them. */
export const sequenceOfRaw = (children: Buffer): Encodable => leaf(tags.sequence, children);

/** A SEQUENCE of elements that are encoded already, copied once and never as text: for those of many megabytes. */
export const sequenceOfEncoded = (...elements: readonly Buffer[]): Buffer =>
  Buffer.concat([sequenceHeader(elements), ...elements]);

/** What stands before the elements of such a SEQUENCE. */
export const sequenceHeader = (elements: readonly Buffer[]): Buffer =>
  Buffer.concat([Buffer.of(tags.sequence), lengthOctets(elements.reduce((sum, { length }) => sum + length, 0))]);

function lengthOctets(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  const octets = Buffer.alloc(4);
  octets.writeUInt32BE(length);
  const significant = octets.subarray(octets.findIndex((octet) => octet > 0));
  return Buffer.concat([Buffer.of(0x80 | significant.length), significant]);
}

const timeText = (value: Date): string => `${value.toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`;

const leaf = (identifier: number, contents: Buffer): Encodable =>
  asn1.create(0, identifier, false, contents.toString('latin1'));

const parent = (identifier: number, children: readonly (Encodable | undefined)[]): Encodable =>
  asn1.create(0, identifier, true, children);
