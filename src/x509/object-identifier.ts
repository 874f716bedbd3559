// Object identifiers as dotted text and as octets, both ways. Those of the table, which are nearly all, are coded once.
import { oids } from './oids.ts';
import { malformed } from './x509-error.ts';

const DOTTED = /^[0-2](\.\d+)+$/;
const MAX_OCTETS = 64;
/** Seven bits each: what fits a number exactly. */
const MAX_NUMBER_OCTETS = 7;

/** The dotted form of the contents of an OBJECT IDENTIFIER; arcs may be of any width. */
export function oidText(contents: Buffer, what: string): string {
  if (contents.length === 0 || contents.length > MAX_OCTETS || (contents.at(-1) ?? 0x80) >= 0x80) {
    throw malformed(what, `is not an OBJECT IDENTIFIER of 1 to ${MAX_OCTETS} octets`);
  }
  return knownTexts.get(contents.toString('latin1')) ?? decoded(contents, what);
}

/** The contents of the OBJECT IDENTIFIER that this is the dotted form of. */
export const oidOctets = (dotted: string): Buffer => knownOctets.get(dotted) ?? encoded(dotted);

const knownOctets: ReadonlyMap<string, Buffer> = new Map(
  Object.values(oids).map((dotted) => [dotted, encoded(dotted)]),
);
const knownTexts: ReadonlyMap<string, string> = new Map(
  [...knownOctets].map(([dotted, octets]) => [octets.toString('latin1'), dotted]),
);

function decoded(contents: Buffer, what: string): string {
  let text = '';
  let start = 0;
  let arc = 0;
  for (const [at, octet] of contents.entries()) {
    if (at === start && octet === 0x80) throw malformed(what, 'has a padded OBJECT IDENTIFIER');
    arc = arc * 0x80 + (octet & 0x7f);
    if (octet >= 0x80) continue;
    const exact = at - start < MAX_NUMBER_OCTETS ? arc : wideArc(contents.subarray(start, at + 1));
    text = text === '' ? firstArcs(exact) : `${text}.${exact}`;
    start = at + 1;
    arc = 0;
  }
  return text;
}

const wideArc = (octets: Buffer): bigint => octets.reduce((arc, octet) => (arc << 7n) | BigInt(octet & 0x7f), 0n);

/** The first two arcs are written as one (X.690 section 8.19.4). */
function firstArcs(joined: number | bigint): string {
  if (joined < 40) return `0.${joined}`;
  return joined < 80 ? `1.${Number(joined) - 40}` : `2.${BigInt(joined) - 80n}`;
}

function encoded(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  const arcs = [first * 40 + second, ...others];
  const isPossible = DOTTED.test(dotted) && (first === 2 || second < 40) && arcs.every(Number.isSafeInteger);
  if (!isPossible) throw new RangeError(`There is no object identifier ${dotted}.`);
  return Buffer.from(arcs.flatMap(arcOctets));
}

/** Seven bits each, the highest first; all but the last have the high bit set. */
function arcOctets(arc: number): readonly number[] {
  const octets = [arc % 0x80];
  for (let rest = Math.floor(arc / 0x80); rest > 0; rest = Math.floor(rest / 0x80))
    octets.unshift(0x80 | (rest % 0x80));
  return octets;
}
