// Walking over encoded elements where they lie, without a node for each: for lists of a million entries.
import { malformed } from './x509-error.ts';

/** Where an element stands in its buffer: header from `at`, contents from `start` to `end`. */
export type Span = { readonly tag: number; readonly at: number; readonly start: number; readonly end: number };

/**
 * The element at `at`, which must end before `limit`. Only the shortest form of a length is taken; `damage` is said of
 * what does not end there.
 */
export function spanAt(der: Buffer, at: number, limit: number, what: string, damage = CUT_OFF): Span {
  const tag = der[at];
  const first = der[at + 1];
  if (tag === undefined || first === undefined || at + 2 > limit || (tag & 0x1f) === 0x1f) throw cutOff(what, damage);
  let start = at + 2;
  let length = first;
  if (first >= 0x80) {
    const octets = first & 0x7f;
    // Four octets are enough for everything that is read; 0x80 itself would be an indefinite length.
    if (octets < 1 || octets > 4 || start + octets > limit) throw cutOff(what, damage);
    length = der.readUIntBE(start, octets);
    start += octets;
    if (length < 0x80 || (octets > 1 && length < 2 ** (8 * (octets - 1))))
      throw malformed(what, 'is not canonical DER');
  }
  if (start + length > limit) throw cutOff(what, damage);
  return { tag, at, start, end: start + length };
}

/** The spans of all children, for elements with few of them. */
export function spansIn(der: Buffer, { start, end }: Span, what: string): readonly Span[] {
  const spans: Span[] = [];
  for (let at = start; at < end; ) {
    const span = spanAt(der, at, end, what);
    if (spans.push(span) > MAX_CHILDREN) throw malformed(what, `has more than ${MAX_CHILDREN} parts`);
    at = span.end;
  }
  return spans;
}

const MAX_CHILDREN = 20;

const CUT_OFF = 'it is cut off or was damaged';

const cutOff = (what: string, damage: string) => malformed(what, `is not well-formed DER: ${damage}`);
