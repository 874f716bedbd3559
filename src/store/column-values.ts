// How the text of a column becomes a value. Pages of lists are hundreds of such texts, so the forms that nearly all have are
// read without a pattern; every other form goes to the driver's own parser.
import pg from 'pg';

const { INT8, DATE, TIMESTAMPTZ } = pg.types.builtins;
/** Of `text[]`; the driver has no name for it. */
const TEXT_ARRAY: number = 1009;

/** The parser of a type, by its oid. Bytea is a Buffer by default. */
export const columnParsers: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    parsers.get(oid) ?? pg.types.getTypeParser(oid, format ?? 'text'),
};

/** Counts and versions are bigint in SQL and numbers here; a number that JavaScript cannot hold is refused, not rounded. */
function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError('A bigint of the database is too large for a number.');
  return value;
}

/** A Date would bring a time zone. */
const parseDay = (text: string): string => text;

const parseAnyTime: (text: string) => Date = pg.types.getTypeParser(TIMESTAMPTZ, 'text');
const parseAnyTexts: (text: string) => string[] = pg.types.getTypeParser(TEXT_ARRAY, 'text');

/** `2026-03-01 12:00:00+00` or `2026-03-01 12:00:00.25+00`: this century, in UTC. Microseconds are cut off. */
function parseTime(text: string): Date {
  const length = text.length;
  if (length < 22 || !text.endsWith('+00') || !text.startsWith('20') || text.charCodeAt(10) !== SPACE)
    return parseAnyTime(text);
  const ms = length === 22 ? 0 : Math.trunc(Number(`0${text.slice(19, -3)}`) * 1000);
  return new Date(
    Date.UTC(
      2000 + twoDigits(text, 2),
      twoDigits(text, 5) - 1,
      twoDigits(text, 8),
      twoDigits(text, 11),
      twoDigits(text, 14),
      twoDigits(text, 17),
      ms,
    ),
  );
}

/** `{a.example,b.example}`: one dimension, nothing quoted, nothing null. */
function parseTexts(text: string): string[] {
  if (text === '{}' || SPECIAL.test(text) || text.lastIndexOf('{') !== 0) return parseAnyTexts(text);
  return text.slice(1, -1).split(',');
}

const SPACE = 0x20;
const ZERO = 0x30;
const SPECIAL = /["\\]|null/i;

const twoDigits = (text: string, at: number): number =>
  (text.charCodeAt(at) - ZERO) * 10 + text.charCodeAt(at + 1) - ZERO;

const parsers = new Map<number, (text: string) => unknown>([
  [INT8, parseInt8],
  [DATE, parseDay],
  [TIMESTAMPTZ, parseTime],
  [TEXT_ARRAY, parseTexts],
]);
