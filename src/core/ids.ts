// Ids: UUIDv7 inside, a resource prefix and 26 characters of base32 (the TypeID form) outside.
import { randomPieces } from './random-pieces.ts';

export type IdPrefix = 'scrt' | 'dir' | 'eab' | 'icrt' | 'ordr' | 'acmk' | 'authz' | 'chal' | 'audt' | 'atok';

// Crockford's alphabet in lower case, as the TypeID specification has it.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const LETTER_CODES = Buffer.from(ALPHABET, 'latin1');
const [DASH, ZERO, SEVEN, NINE, LETTERS] = [0x2d, 0x30, 0x37, 0x39, 0x57]; // `a` stands for 10
const written = Buffer.alloc(26);
/** What each character stands for, by its code; -1 outside the alphabet. */
const LETTER_VALUES = Int8Array.from({ length: 128 }, (_, code) => ALPHABET.indexOf(String.fromCharCode(code)));
const HEX_CODES = Buffer.from('0123456789abcdef', 'latin1');
const dashes = [8, 13, 18, 23];
const uuidRead = Buffer.alloc(36, '-');
/** Where the 32 digits of a uuid stand. */
const DIGITS = Uint8Array.from(uuidRead.keys().filter((position) => !dashes.includes(position)));

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
  const start = prefix.length + 1;
  if (id.length !== start + written.length || !id.startsWith(prefix) || id.charAt(prefix.length) !== '_')
    return undefined;
  // The first character holds no more than three bits, or there would be more than 128.
  if (id.charCodeAt(start) > SEVEN) return undefined;
  let length = 0;
  let bits = 0;
  let held = -2;
  for (let index = start; index < id.length; index++) {
    const value = LETTER_VALUES[id.charCodeAt(index)] ?? -1;
    if (value === -1) return undefined;
    bits = (bits << 5) | value;
    held += 5;
    for (; held >= 4; length++) {
      held -= 4;
      uuidRead[DIGITS[length] ?? 0] = HEX_CODES[bits >> held] ?? 0;
      bits &= (1 << held) - 1;
    }
  }
  return uuidRead.toString('latin1');
}

const nextRandom = randomPieces(10);

const dashed = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
