// Ids: UUIDv7 inside, a resource prefix and 26 characters of base32 (the TypeID form) outside.
import { randomPieces } from './random-pieces.ts';

export type IdPrefix = 'scrt' | 'dir' | 'eab' | 'icrt' | 'ordr' | 'acmk' | 'authz' | 'chal' | 'audt' | 'atok';

// Crockford's alphabet in lower case, as the TypeID specification has it.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const LETTER_CODES = Buffer.from(ALPHABET, 'latin1');
const [DASH, ZERO, NINE, LETTERS] = [0x2d, 0x30, 0x39, 0x57]; // `a` stands for 10
const written = Buffer.alloc(26);
const FORM = /^([a-z]+)_([0-7][0-9a-hjkmnp-tv-z]{25})$/;

/** A new UUIDv7: 48 bits of milliseconds, 74 random bits. Sorting by it is sorting by creation. */
export function newUuid(now: Date, random: Buffer = nextRandom()): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(now.getTime(), 0, 6);
  random.copy(bytes, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return dashed(bytes.toString('hex'));
}

/** Lists write hundreds of ids a page, so this counts bits, and leaves neither big numbers nor pieces of text behind. */
export function formatId(prefix: IdPrefix, uuid: string): string {
  let length = 0;
  let bits = 0;
  // 26 characters hold 130 bits: the first two are zero.
  let held = 2;
  for (let index = 0; index < uuid.length; index++) {
    const code = uuid.charCodeAt(index);
    if (code === DASH) continue;
    bits = (bits << 4) | (code - (code <= NINE ? ZERO : LETTERS));
    held += 4;
    if (held < 5) continue;
    held -= 5;
    written[length++] = LETTER_CODES[bits >> held] ?? 0;
    bits &= (1 << held) - 1;
  }
  return `${prefix}_${written.toString('latin1', 0, length)}`;
}

/** The uuid in an id of this prefix; undefined for anything else, upper case and other prefixes included. */
export function parseId(prefix: IdPrefix, id: string): string | undefined {
  const match = FORM.exec(id);
  if (match?.[1] !== prefix || match[2] === undefined) return undefined;
  let value = 0n;
  for (const character of match[2]) value = (value << 5n) | BigInt(ALPHABET.indexOf(character));
  return dashed(value.toString(16).padStart(32, '0'));
}

const nextRandom = randomPieces(10);

const dashed = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
