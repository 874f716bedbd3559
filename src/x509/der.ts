// Strict reading of DER: one canonical form, bounded size, depth and element count, and every node checked when it is read.
import asn1, { type Asn1 } from 'node-forge/lib/asn1.js';
import { X509Error } from './x509-error.ts';

export type DerNode = Asn1;

/** Whole identifier octets, so that one comparison checks class, constructed bit and number. */
export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  enumerated: 0x0a,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** Context-specific identifier octets: `[n]` over contents, and `[n]` around other nodes. */
export const contextPrimitive = (number: number): number => 0x80 | number;
export const contextConstructed = (number: number): number => 0xa0 | number;

const MAX_BYTES = 65_536;
const MAX_DEPTH = 24;
const MAX_ELEMENTS = 10_000;
const BMP_STRING = 0x1e;

/** Parses exactly one DER value. A tree is not a schema: what it holds is checked by the readers below. */
export function parseDer(der: Buffer, what: string, maxBytes: number = MAX_BYTES): DerNode {
  if (der.length > maxBytes) {
    throw new X509Error('too_large', `${what} is ${der.length} bytes long; at most ${maxBytes} are read.`);
  }
  const tree = decode(der, what);
  checkTree(tree, what);
  // Long forms, indefinite lengths and padded integers decode well and encode differently.
  if (!bytesOf(tree).equals(der)) throw malformed(what, 'is not canonical DER');
  return tree;
}

/** The bytes a node was read from: equal to its encoding, because only canonical DER is read. */
export const bytesOf = (node: DerNode): Buffer => Buffer.from(asn1.toDer(node).getBytes(), 'latin1');

export const tagOf = (node: DerNode): number => node.tagClass | (node.constructed ? 0x20 : 0) | node.type;

/** The contents of a primitive node of this tag. */
export function contentsOf(node: DerNode, tag: number, what: string): Buffer {
  return Buffer.from(binaryOf(node, tag, what), 'latin1');
}

/** The children of a constructed node of this tag. */
export function childrenOf(node: DerNode, tag: number, what: string): readonly DerNode[] {
  if (tagOf(node) !== tag || typeof node.value === 'string') throw wrongTag(node, tag, what);
  return node.value;
}

/** The only child of an EXPLICIT wrapper or of any other constructed node that holds exactly one. */
export function onlyChildOf(node: DerNode, tag: number, what: string): DerNode {
  const [child, ...others] = childrenOf(node, tag, what);
  if (child === undefined || others.length > 0) throw malformed(what, 'does not hold exactly one element');
  return child;
}

/** Reads the children of a constructed node one after the other. */
export type Elements = {
  next(what: string): DerNode;
  nextIf(tag: number): DerNode | undefined;
  /** Refuses elements that nobody has read. */
  end(): void;
};

export function elementsOf(node: DerNode, tag: number, what: string): Elements {
  const children = childrenOf(node, tag, what);
  let position = 0;
  return {
    next(element) {
      const child = children[position++];
      if (child === undefined) throw malformed(what, `ends before its ${element}`);
      return child;
    },
    nextIf(wanted) {
      const child = children[position];
      if (child === undefined || tagOf(child) !== wanted) return undefined;
      position++;
      return child;
    },
    end() {
      if (position < children.length) throw malformed(what, `holds ${children.length - position} unexpected elements`);
    },
  };
}

/** INTEGER of any size; canonical form was checked by `parseDer`. */
export function readInteger(node: DerNode, what: string): bigint {
  const contents = contentsOf(node, tags.integer, what);
  if (contents.length === 0) throw malformed(what, 'is an empty INTEGER');
  return BigInt.asIntN(contents.length * 8, BigInt(`0x${contents.toString('hex')}`));
}

export function readSmallInteger(node: DerNode, what: string, maximum = 0x7fffffff): number {
  const value = readInteger(node, what);
  if (value < 0n || value > BigInt(maximum)) throw malformed(what, `is not between 0 and ${maximum}`);
  return Number(value);
}

export function readBoolean(node: DerNode, what: string): boolean {
  const contents = contentsOf(node, tags.boolean, what);
  if (contents.length !== 1 || (contents[0] !== 0x00 && contents[0] !== 0xff))
    throw malformed(what, 'is not a BOOLEAN');
  return contents[0] === 0xff;
}

export function readNull(node: DerNode, what: string): void {
  if (contentsOf(node, tags.null, what).length > 0) throw malformed(what, 'is not a NULL');
}

export const readOctets = (node: DerNode, what: string): Buffer => contentsOf(node, tags.octetString, what);

/** BIT STRING of whole octets, as keys and signatures are. */
export function readBits(node: DerNode, what: string): Buffer {
  const contents = contentsOf(node, tags.bitString, what);
  if (contents[0] !== 0) throw malformed(what, 'is not a BIT STRING of whole octets');
  return contents.subarray(1);
}

/** The numbers of the set bits of a named BIT STRING. */
export function readNamedBits(node: DerNode, what: string): readonly number[] {
  const contents = contentsOf(node, tags.bitString, what);
  const unused = contents[0] ?? 8;
  const bits = contents.subarray(1);
  const last = bits.at(-1);
  if (unused > 7 || bits.length > 4 || (last === undefined ? unused > 0 : (last & ((1 << unused) - 1)) !== 0)) {
    throw malformed(what, 'is not a BIT STRING of named bits');
  }
  const numbers = Array.from({ length: bits.length * 8 }, (_, bit) => bit);
  return numbers.filter((bit) => ((bits[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0);
}

/** OBJECT IDENTIFIER in dotted form. Own decoder: arcs may be wider than forge's 53 bits. */
export function readOid(node: DerNode, what: string): string {
  const contents = contentsOf(node, tags.oid, what);
  if (contents.length === 0 || contents.length > 64 || (contents.at(-1) ?? 0x80) >= 0x80) {
    throw malformed(what, 'is not an OBJECT IDENTIFIER of 1 to 64 octets');
  }
  const arcs: bigint[] = [];
  let arc = 0n;
  let atStart = true;
  for (const octet of contents) {
    if (atStart && octet === 0x80) throw malformed(what, 'has a padded OBJECT IDENTIFIER');
    arc = (arc << 7n) | BigInt(octet & 0x7f);
    atStart = octet < 0x80;
    if (!atStart) continue;
    arcs.push(...(arcs.length > 0 ? [arc] : firstArcs(arc)));
    arc = 0n;
  }
  return arcs.join('.');
}

const TIME_FORMS: Readonly<Record<number, RegExp>> = {
  [tags.utcTime]: /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/,
  [tags.generalizedTime]: /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/,
};

/** UTCTime or GeneralizedTime in the forms of RFC 5280 section 4.1.2.5: whole seconds, Z. */
export function readTime(node: DerNode, what: string): Date {
  const form = TIME_FORMS[tagOf(node)];
  const text = typeof node.value === 'string' ? node.value : '';
  const parts = form?.exec(text)?.slice(1).map(Number);
  if (parts === undefined) throw malformed(what, 'is not a time of the form YYMMDDHHMMSSZ or YYYYMMDDHHMMSSZ');
  const [shortYear = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts;
  const year = tagOf(node) === tags.generalizedTime ? shortYear : shortYear + (shortYear >= 50 ? 1900 : 2000);
  const iso = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}.000Z`;
  const time = new Date(iso);
  // February 30 and the like roll over instead of failing.
  if (Number.isNaN(time.getTime()) || time.toISOString() !== iso)
    throw malformed(what, 'names a time that does not exist');
  return time;
}

export const malformed = (what: string, problem: string): X509Error =>
  new X509Error('malformed', `${what} ${problem}.`);

function decode(der: Buffer, what: string): DerNode {
  try {
    const options = { strict: true, parseAllBytes: true, decodeBitStrings: false, maxDepth: MAX_DEPTH };
    return asn1.fromDer(der.toString('latin1'), options);
  } catch {
    throw malformed(what, 'is not well-formed DER: it is cut off, has bytes after its end, or was damaged');
  }
}

/** Rules of DER that hold for every node: known tag form, strings and numbers primitive, sequences and sets constructed. */
function checkTree(root: DerNode, what: string): void {
  const pending: DerNode[] = [root];
  let count = 0;
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (++count > MAX_ELEMENTS) throw new X509Error('too_large', `${what} has more than ${MAX_ELEMENTS} elements.`);
    if (node.type === 0x1f) throw malformed(what, 'uses a tag number above 30');
    const isUniversal = node.tagClass === 0;
    const mustBeConstructed = node.type === 0x10 || node.type === 0x11;
    if (isUniversal && (node.type === 0 || node.constructed !== mustBeConstructed)) {
      throw malformed(what, `holds an element with the tag 0x${tagOf(node).toString(16)}, which DER does not allow`);
    }
    if (typeof node.value !== 'string') for (const child of node.value) pending.push(child);
  }
}

function binaryOf(node: DerNode, tag: number, what: string): string {
  // Forge reads number 30 of any class as 16-bit characters; no structure here uses it but as BMPString text.
  if (tagOf(node) !== tag || typeof node.value !== 'string' || (tag & 0x1f) === BMP_STRING)
    throw wrongTag(node, tag, what);
  return node.value;
}

function firstArcs(joined: bigint): readonly bigint[] {
  if (joined < 40n) return [0n, joined];
  return joined < 80n ? [1n, joined - 40n] : [2n, joined - 80n];
}

const two = (value: number): string => String(value).padStart(2, '0');

const wrongTag = (node: DerNode, expected: number, what: string): X509Error =>
  malformed(what, `has the tag 0x${tagOf(node).toString(16)} where 0x${expected.toString(16)} is expected`);
