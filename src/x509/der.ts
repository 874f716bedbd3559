// Strict reading of DER: one canonical form, bounded size, depth and element count, and every node checked when it is read.
import { type Span, spanAt } from './der-scan.ts';
import { oidText } from './object-identifier.ts';
import { malformed, X509Error } from './x509-error.ts';

/** An element where it lies: nothing of the bytes is copied. */
export type DerNode = Span & {
  readonly source: Buffer;
  /** Of constructed elements alone. */
  readonly children: readonly DerNode[] | undefined;
};

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

// Parts of an identifier octet.
const NUMBER = 0x1f;
const CONSTRUCTED = 0x20;
const CLASS_ABOVE_UNIVERSAL = 0x40;
const BMP_STRING = 30;

/** Parses exactly one DER value. A tree is not a schema: what it holds is checked by the readers below. */
export function parseDer(der: Buffer, what: string, maxBytes: number = MAX_BYTES): DerNode {
  if (der.length > maxBytes) {
    throw new X509Error('too_large', `${what} is ${der.length} bytes long; at most ${maxBytes} are read.`);
  }
  const root = readNode({ der, what, count: 0 }, 0, der.length, 0);
  if (root.end !== der.length) throw damaged(what);
  return root;
}

/** The bytes a node was read from: equal to its encoding, because only canonical DER is read. */
export const bytesOf = ({ source, at, end }: DerNode): Buffer => source.subarray(at, end);

/** The contents of a primitive node of this tag. */
export function contentsOf(node: DerNode, tag: number, what: string): Buffer {
  if (node.tag !== tag || node.children !== undefined) throw wrongTag(node, tag, what);
  return node.source.subarray(node.start, node.end);
}

/** The children of a constructed node of this tag. */
export function childrenOf(node: DerNode, tag: number, what: string): readonly DerNode[] {
  if (node.tag !== tag || node.children === undefined) throw wrongTag(node, tag, what);
  return node.children;
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
      if (child?.tag !== wanted) return undefined;
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
  const value = Number(readInteger(node, what));
  if (value < 0 || value > maximum) throw malformed(what, `is not between 0 and ${maximum}`);
  return value;
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

/** OBJECT IDENTIFIER in dotted form. */
export const readOid = (node: DerNode, what: string): string => oidText(contentsOf(node, tags.oid, what), what);

const TIME_FORMS: Readonly<Record<number, RegExp>> = {
  [tags.utcTime]: /^\d{12}Z$/,
  [tags.generalizedTime]: /^\d{14}Z$/,
};
const TIME_PARTS = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;

/** UTCTime or GeneralizedTime in the forms of RFC 5280 section 4.1.2.5: whole seconds, Z. */
export function readTime({ tag, source, start, end }: DerNode, what: string): Date {
  const text = source.toString('latin1', start, end);
  if (TIME_FORMS[tag]?.test(text) !== true)
    throw malformed(what, 'is not a time of the form YYMMDDHHMMSSZ or YYYYMMDDHHMMSSZ');
  const century = tag === tags.generalizedTime ? '' : text < '50' ? '20' : '19';
  const iso = `${century}${text}`.replace(TIME_PARTS, '$1-$2-$3T$4:$5:$6.000Z');
  const time = new Date(iso);
  // February 30 and the like roll over instead of failing.
  if (Number.isNaN(time.getTime()) || time.toISOString() !== iso)
    throw malformed(what, 'names a time that does not exist');
  return time;
}

const DAMAGE = 'it is cut off, has bytes after its end, or was damaged';

type Reading = { readonly der: Buffer; readonly what: string; count: number };

/** The element at `at`, which must end before `limit`, with all that it holds; the depth bounds the stack. */
function readNode(reading: Reading, at: number, limit: number, depth: number): DerNode {
  const { der, what } = reading;
  if (depth >= MAX_DEPTH) throw damaged(what);
  if (++reading.count > MAX_ELEMENTS) {
    throw new X509Error('too_large', `${what} has more than ${MAX_ELEMENTS} elements.`);
  }
  if (((der[at] ?? 0) & NUMBER) === NUMBER) throw malformed(what, 'uses a tag number above 30');
  const span = spanAt(der, at, limit, what, DAMAGE);
  const { tag, start, end } = span;
  checkTag(tag, what);
  if ((tag & CONSTRUCTED) === 0) {
    if (!isCanonical(der, span)) throw malformed(what, 'is not canonical DER');
    return { tag, at, start, end, source: der, children: undefined };
  }
  const children: DerNode[] = [];
  for (let next = start; next < end; ) {
    const child = readNode(reading, next, end, depth + 1);
    children.push(child);
    next = child.end;
  }
  return { tag, at, start, end, source: der, children };
}

/** Universal types have one form each: sequences and sets are constructed, strings and numbers are not. */
function checkTag(tag: number, what: string): void {
  if (tag >= CLASS_ABOVE_UNIVERSAL) return;
  const mustBeConstructed = (tag & NUMBER) === 0x10 || (tag & NUMBER) === 0x11;
  if ((tag & NUMBER) === 0 || ((tag & CONSTRUCTED) !== 0) !== mustBeConstructed) {
    throw malformed(what, `holds an element with the tag 0x${tag.toString(16)}, which DER does not allow`);
  }
}

/** Numbers are as short as can be, those that stand behind a context tag by their own number too; BMPString has pairs. */
function isCanonical(der: Buffer, { tag, start, end }: Span): boolean {
  const number = tag & NUMBER;
  if (number === BMP_STRING) return (end - start) % 2 === 0;
  if ((number !== tags.integer && tag !== tags.enumerated) || end - start < 2) return true;
  const isHigh = (der[start + 1] ?? 0) >= 0x80;
  return der[start] !== (isHigh ? 0xff : 0x00);
}

const wrongTag = (node: DerNode, expected: number, what: string): X509Error =>
  malformed(what, `has the tag 0x${node.tag.toString(16)} where 0x${expected.toString(16)} is expected`);

const damaged = (what: string): X509Error => malformed(what, `is not well-formed DER: ${DAMAGE}`);
