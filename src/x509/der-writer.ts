// Writing DER: one small function per ASN.1 type, giving nodes that know their length, which `encodeDer` writes into one buffer.
import { contextConstructed, contextPrimitive, tags } from './der.ts';
import { oidOctets } from './object-identifier.ts';

/** A node to be written. */
export type Encodable = {
  /** Identifier octet; undefined for what has its header already. */
  readonly tag: number | undefined;
  /** Of the contents, in octets. */
  readonly length: number;
  readonly contents: Buffer | readonly Encodable[];
};

export function encodeDer(node: Encodable): Buffer {
  const target = Buffer.allocUnsafe(sizeOf(node));
  write(node, target, 0);
  return target;
}

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

export const oid = (dotted: string): Encodable => leaf(tags.oid, oidOctets(dotted));

/** A non-negative INTEGER from its value or from its big-endian octets. */
export function integer(value: bigint | number | Buffer): Encodable {
  const octets = Buffer.isBuffer(value) ? value : octetsOf(value);
  const first = octets.findIndex((octet) => octet > 0);
  if (first === -1) return leaf(tags.integer, Buffer.of(0));
  const magnitude = octets.subarray(first);
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
export const raw = (der: Buffer): Encodable => leaf(undefined, der);

/** `[n] IMPLICIT` of a SET whose members are encoded already: one node for any number of them. */
export const implicitSetOfRaw = (number: number, members: Buffer): Encodable =>
  leaf(contextConstructed(number), members);

/** A SEQUENCE whose children are encoded already, one after the other: one node for any number of them. */
export const sequenceOfRaw = (children: Buffer): Encodable => leaf(tags.sequence, children);

/** A SEQUENCE of elements that are encoded already, copied once and never as text: for those of many megabytes. */
export const sequenceOfEncoded = (...elements: readonly Buffer[]): Buffer =>
  Buffer.concat([sequenceHeader(elements), ...elements]);

/** What stands before the elements of such a SEQUENCE. */
export function sequenceHeader(elements: readonly Buffer[]): Buffer {
  const length = elements.reduce((sum, element) => sum + element.length, 0);
  const header = Buffer.allocUnsafe(1 + lengthOctets(length));
  writeHeader(tags.sequence, length, header, 0);
  return header;
}

const timeText = (value: Date): string => `${value.toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`;

function octetsOf(value: bigint | number): Buffer {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
}

const leaf = (tag: number | undefined, contents: Buffer): Encodable => ({ tag, length: contents.length, contents });

function parent(tag: number, children: readonly (Encodable | undefined)[]): Encodable {
  const contents = children.filter((child) => child !== undefined);
  return { tag, length: contents.reduce((sum, child) => sum + sizeOf(child), 0), contents };
}

/** Octets of the whole encoding. */
const sizeOf = ({ tag, length }: Encodable): number => (tag === undefined ? length : 1 + lengthOctets(length) + length);

/** How many octets say a length. */
function lengthOctets(length: number): number {
  if (length < 0x80) return 1;
  return length < 0x100 ? 2 : length < 0x1_00_00 ? 3 : length < 0x1_00_00_00 ? 4 : 5;
}

/** Returns where the next element begins. */
function write({ tag, length, contents }: Encodable, target: Buffer, at: number): number {
  const start = tag === undefined ? at : writeHeader(tag, length, target, at);
  if (!Buffer.isBuffer(contents)) return contents.reduce((next, child) => write(child, target, next), start);
  target.set(contents, start);
  return start + length;
}

/** Returns where the contents begin. */
function writeHeader(tag: number, length: number, target: Buffer, at: number): number {
  const following = lengthOctets(length) - 1;
  target[at] = tag;
  target[at + 1] = following === 0 ? length : 0x80 | following;
  if (following > 0) target.writeUIntBE(length, at + 2, following);
  return at + 2 + following;
}
