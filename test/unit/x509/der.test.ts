// Strict DER: what is read, what is refused, and that writing gives what was read.
import { expect, test } from 'vitest';
import {
  bytesOf,
  childrenOf,
  elementsOf,
  parseDer,
  readBits,
  readBoolean,
  readInteger,
  readNamedBits,
  readNull,
  readOctets,
  readOid,
  readSmallInteger,
  readTime,
  tags,
} from '../../../src/x509/der.ts';
import {
  bitString,
  boolean,
  encodeDer,
  enumerated,
  explicit,
  implicit,
  integer,
  namedBits,
  nullValue,
  octetString,
  oid,
  printable,
  raw,
  sequence,
  sequenceOfRaw,
  setOfOne,
  time,
  utf8,
} from '../../../src/x509/der-writer.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const parse = (text: string) => parseDer(hex(text), 'the value');

test.each([
  ['an empty input', ''],
  ['a cut length', '30'],
  ['contents that are cut off', '30 03 02 01'],
  ['a child longer than its parent', '30 03 02 02 01'],
  ['bytes after the end', '30 00 00'],
  ['an indefinite length', '30 80 02 01 01 00 00'],
  ['a length in long form that fits the short one', '30 81 03 02 01 01'],
  ['a length with a leading zero', '30 82 00 03 02 01 01'],
  ['a long length with a leading zero', `30 82 00 80 ${'05 00'.repeat(64)}`],
  ['a length of more octets than any input', '30 88 00 00 00 00 00 00 00 03 02 01 01'],
  ['a length that overflows 32 bits', '30 85 01 00 00 00 03 02 01 01'],
  ['an integer with a padding zero', '02 02 00 01'],
  ['an integer with two padding zeros', '02 03 00 00 81'],
  ['a negative integer with padding', '02 02 ff 81'],
  ['an integer with padding behind a context tag', '82 02 00 01'],
  ['an enumerated value with padding', '0a 02 00 01'],
  ['a BMPString of half a character', '1e 03 00 41 00'],
  ['a length in long form that is cut off', '30 82 01'],
  ['a constructed octet string', '24 03 04 01 01'],
  ['a constructed bit string', '23 04 03 02 00 01'],
  ['a primitive sequence', '10 00'],
  ['an end-of-contents octet as a value', '30 02 00 00'],
  ['a tag number above 30', '9f 01 01'],
])('refuses %s', (_, text) => {
  expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'malformed' }));
});

test('says what a tag number above 30 is', () => {
  expect(() => parse('30 03 9f 01 01')).toThrow('The value uses a tag number above 30.');
});

test('SEC-22: refuses deep nesting without running out of stack', () => {
  let nested: Buffer = Buffer.of(0x05, 0x00);
  for (let depth = 0; depth < 30; depth++) nested = encodeDer(sequence(raw(nested)));
  expect(() => parseDer(nested, 'the value')).toThrow(expect.objectContaining({ code: 'malformed' }));
  const indefinite = hex('30 80'.repeat(30_000) + '00'.repeat(4));
  expect(() => parseDer(indefinite, 'the value')).toThrow(expect.objectContaining({ code: 'malformed' }));
});

test('a node lies in the bytes it was read from, and holds no copy of them', () => {
  const der = hex('30 05 04 03 61 62 63');
  const [octets] = childrenOf(parseDer(der, 'the value'), tags.sequence, 'the value');
  if (octets === undefined) throw new Error('no child');
  const contents = readOctets(octets, 'the value');
  expect(contents.toString()).toBe('abc');
  der.write('xyz', 4);
  expect(contents.toString()).toBe('xyz');
  expect(bytesOf(octets)).toEqual(hex('04 03 78 79 7a'));
});

test('SEC-22: refuses too many bytes and too many elements', () => {
  const large = encodeDer(octetString(Buffer.alloc(70_000)));
  expect(() => parseDer(large, 'the value')).toThrow('at most 65536');
  expect(bytesOf(parseDer(large, 'the value', 80_000))).toEqual(large);
  const many = encodeDer(sequenceOfRaw(hex('05 00'.repeat(11_000))));
  expect(() => parseDer(many, 'the value')).toThrow('more than 10000 elements');
});

test('every reader checks class, constructed bit and number of the node', () => {
  const readers = [readInteger, readBoolean, readNull, readOctets, readBits, readNamedBits, readOid, readTime];
  for (const read of readers) {
    for (const wrong of ['30 00', '82 01 01', 'a2 03 02 01 01', '42 01 01', 'c2 01 01', '0c 01 41', '1e 02 00 41']) {
      expect(() => read(parse(wrong), 'the value')).toThrow(expect.objectContaining({ code: 'malformed' }));
    }
  }
  expect(() => childrenOf(parse('31 00'), tags.sequence, 'the value')).toThrow('0x31');
});

test('elements are read in order and none may be left over', () => {
  const elements = elementsOf(parse('30 06 02 01 05 01 01 ff'), tags.sequence, 'the value');
  expect(elements.nextIf(tags.boolean)).toBeUndefined();
  expect(readInteger(elements.next('number'), 'the value')).toBe(5n);
  expect(() => elements.end()).toThrow('1 unexpected');
  expect(readBoolean(elements.next('flag'), 'the value')).toBe(true);
  expect(() => elements.next('more')).toThrow('ends before its more');
  elements.end();
});

test.each([
  [0n, '02 01 00'],
  [127n, '02 01 7f'],
  [128n, '02 02 00 80'],
  [256n, '02 02 01 00'],
  [65_537n, '02 03 01 00 01'],
  [2n ** 64n, '02 09 01 00 00 00 00 00 00 00 00'],
])('writes and reads the integer %s', (value, text) => {
  expect(encodeDer(integer(value))).toEqual(hex(text));
  expect(readInteger(parse(text), 'the value')).toBe(value);
});

test('reads negative integers as negative', () => {
  expect(readInteger(parse('02 01 ff'), 'the value')).toBe(-1n);
  expect(readInteger(parse('02 02 80 00'), 'the value')).toBe(-32_768n);
  expect(() => readSmallInteger(parse('02 01 ff'), 'the value')).toThrow('between');
  expect(() => readInteger(parse('02 00'), 'the value')).toThrow('empty');
});

test('writes an integer from octets without leading zeros and with a sign octet', () => {
  expect(encodeDer(integer(hex('00 00 8f')))).toEqual(hex('02 02 00 8f'));
  expect(encodeDer(integer(hex('00')))).toEqual(hex('02 01 00'));
});

test.each([
  ['1.2.840.113549.1.1.11', '06 09 2a 86 48 86 f7 0d 01 01 0b'],
  ['2.5.29.17', '06 03 55 1d 11'],
  ['2.999.1', '06 03 88 37 01'],
  ['0.39', '06 01 27'],
  ['1.0', '06 01 28'],
  ['2.0', '06 01 50'],
  ['0.9.2342.19200300.100.1.25', '06 0a 09 92 26 89 93 f2 2c 64 01 19'],
  ['1.39.9007199254740991', '06 09 4f 8f ff ff ff ff ff ff 7f'],
])('writes and reads the object identifier %s', (dotted, text) => {
  expect(encodeDer(oid(dotted))).toEqual(hex(text));
  expect(readOid(parse(text), 'the value')).toBe(dotted);
});

test.each(['', '1', '3.1', '1.40', '1.2.-3', '1.2..3', '1.2.x', '1.2.9007199254740992'])(
  'writes no object identifier %j',
  (dotted) => {
    expect(() => oid(dotted)).toThrow(RangeError);
  },
);

test('reads arcs of 128 bits and refuses padded, unfinished and huge object identifiers', () => {
  const uuid = '06 14 69 83 f0 9d a7 eb cf de e0 c7 a1 a7 b2 c0 94 8c c8 f9 d7 76';
  expect(readOid(parse(uuid), 'the value')).toBe('2.25.329800735698586629295641978511506172918');
  for (const bad of ['06 00', '06 03 55 80 01', '06 02 55 9d', '06 01 80']) {
    expect(() => readOid(parse(bad), 'the value')).toThrow(expect.objectContaining({ code: 'malformed' }));
  }
  const huge = Buffer.concat([hex('06 82 ea 60'), Buffer.alloc(59_999, 0xff), Buffer.of(1)]);
  expect(() => readOid(parseDer(huge, 'the value'), 'the value')).toThrow('64 octets');
});

test.each([
  ['2026-11-21T16:00:00.000Z', '17 0d 32 36 31 31 32 31 31 36 30 30 30 30 5a'],
  ['2049-12-31T23:59:59.000Z', '17 0d 34 39 31 32 33 31 32 33 35 39 35 39 5a'],
  ['2050-01-01T00:00:00.000Z', '18 0f 32 30 35 30 30 31 30 31 30 30 30 30 30 30 5a'],
  ['9999-12-31T23:59:59.000Z', '18 0f 39 39 39 39 31 32 33 31 32 33 35 39 35 39 5a'],
  ['1950-01-01T00:00:00.000Z', '17 0d 35 30 30 31 30 31 30 30 30 30 30 30 5a'],
])('RFC 5280 section 4.1.2.5: writes and reads the time %s', (iso, text) => {
  expect(encodeDer(time(new Date(iso)))).toEqual(hex(text));
  expect(readTime(parse(text), 'the value').toISOString()).toBe(iso);
});

test('cuts fractions of a second off and refuses years that cannot be written', () => {
  expect(encodeDer(time(new Date('2026-11-21T16:00:00.999Z')))).toEqual(
    encodeDer(time(new Date('2026-11-21T16:00:00Z'))),
  );
  expect(() => time(new Date('1949-12-31T23:59:59Z'))).toThrow(RangeError);
  expect(() => time(new Date('+010000-01-01T00:00:00Z'))).toThrow(RangeError);
});

test.each([
  ['no seconds', '2611211600Z'],
  ['an offset', '261121160000+0100'],
  ['a fraction', '261121160000.5Z'],
  ['February 30', '260230000000Z'],
  ['month 13', '261301000000Z'],
  ['hour 24', '261121240000Z'],
  ['a leap second', '261231235960Z'],
  ['no zone', '261121160000'],
])('refuses a UTCTime with %s', (_, text) => {
  const der = Buffer.concat([Buffer.of(tags.utcTime, text.length), Buffer.from(text)]);
  expect(() => readTime(parseDer(der, 'the value'), 'the value')).toThrow(
    expect.objectContaining({ code: 'malformed' }),
  );
});

test('refuses bit strings with wrong unused bits', () => {
  expect(readNamedBits(parse('03 02 01 06'), 'the value')).toEqual([5, 6]);
  expect(encodeDer(namedBits([5, 6]))).toEqual(hex('03 02 01 06'));
  expect(encodeDer(namedBits([0, 8]))).toEqual(hex('03 03 07 80 80'));
  expect(readNamedBits(parse('03 03 07 80 80'), 'the value')).toEqual([0, 8]);
  for (const bad of ['03 00', '03 01 01', '03 02 08 00', '03 02 02 06', '03 06 00 01 01 01 01 01']) {
    expect(() => readNamedBits(parse(bad), 'the value')).toThrow('named bits');
  }
  expect(() => readBits(parse('03 02 01 06'), 'the value')).toThrow('whole octets');
});

test('refuses booleans other than 00 and ff, and a null with contents', () => {
  expect(readBoolean(parse('01 01 00'), 'the value')).toBe(false);
  for (const bad of ['01 00', '01 01 01', '01 02 ff ff']) expect(() => readBoolean(parse(bad), 'the value')).toThrow();
  expect(() => readNull(parse('05 01 00'), 'the value')).toThrow();
});

test('what is written is canonical and reads back byte for byte', () => {
  const der = encodeDer(
    sequence(
      explicit(0, integer(2)),
      undefined,
      implicit(2, Buffer.from('a.example')),
      setOfOne(sequence(utf8('Zoë'), printable('DE'))),
      boolean(true),
      nullValue(),
      enumerated(4),
      bitString(Buffer.alloc(200, 7)),
      raw(encodeDer(octetString(Buffer.alloc(300, 9)))),
      raw(encodeDer(octetString(Buffer.alloc(70_000, 9)))),
      sequenceOfRaw(Buffer.concat([encodeDer(integer(1)), encodeDer(integer(2))])),
    ),
  );
  expect(bytesOf(parseDer(der, 'the value', 100_000))).toEqual(der);
  expect(encodeDer(sequence(explicit(0, integer(2)), implicit(2, Buffer.from('a')), utf8('Zoë')))).toEqual(
    hex('30 0e a0 03 02 01 02 82 01 61 0c 04 5a 6f c3 ab'),
  );
});

test.each([0x7f, 0x80, 0xff, 0x1_00, 0xff_ff, 0x1_00_00, 0xff_ff_ff, 0x1_00_00_00])(
  'writes the length %i in its shortest form',
  (length) => {
    const der = encodeDer(octetString(Buffer.alloc(length)));
    expect(readOctets(parseDer(der, 'the value', der.length), 'the value').length).toBe(length);
  },
);

test('writes what stands behind a context tag as it is, even where it looks like a padded integer', () => {
  expect(encodeDer(implicit(2, Buffer.of(0, 1)))).toEqual(hex('82 02 00 01'));
  expect(encodeDer(implicit(30, Buffer.from('odd')))).toEqual(hex('9e 03 6f 64 64'));
});
