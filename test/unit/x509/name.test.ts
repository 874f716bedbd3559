// Distinguished names.
import { expect, test } from 'vitest';
import { parseDer } from '../../../src/x509/der.ts';
import { encodeDer, oid, sequence, setOfOne, utf8 } from '../../../src/x509/der-writer.ts';
import { buildName, nameText, parseName } from '../../../src/x509/name.ts';
import { readText } from '../../../src/x509/text.ts';

const part = (type: string, value: string) => setOfOne(sequence(oid(type), utf8(value)));
const text = (tag: number, hex: string) => {
  const bytes = Buffer.from(hex, 'hex');
  return readText(parseDer(Buffer.concat([Buffer.of(tag, bytes.length), bytes]), 'the text'), 'the text');
};

test('writes the general part first, UTF8String, and PrintableString for the country', () => {
  expect(buildName({ CN: 'Root', C: 'DE' }).toString('hex')).toBe(
    '301c310b300906035504061302444531' + '0d300b06035504030c04526f6f74',
  );
  expect(buildName({}).toString('hex')).toBe('3000');
});

test('reads back what it wrote', () => {
  const fields = { C: 'DE', ST: 'Berlin', L: 'Mitte', O: 'Käse & Söhne', OU: 'CA', CN: 'Root 1' };
  const name = parseName(buildName(fields), 'the name');
  expect(name.fields).toEqual(fields);
  expect(name.der).toEqual(buildName(fields));
  expect(nameText(name)).toBe('CN=Root 1,OU=CA,O=Käse & Söhne,L=Mitte,ST=Berlin,C=DE');
});

test('RFC 4514: text escapes what would read as structure', () => {
  const shown = (value: string) => nameText(parseName(buildName({ CN: value }), 'the name'));
  expect(shown('a,b+c"d\\e<f>g;h')).toBe('CN=a\\,b\\+c\\"d\\\\e\\<f\\>g\\;h');
  expect(shown('#a b ')).toBe('CN=\\#a b\\ ');
  expect(shown(' a')).toBe('CN=\\ a');
});

test('keeps unknown attributes and shows the last of repeated fields', () => {
  const der = encodeDer(
    sequence(part('2.5.4.11', 'one'), part('2.5.4.11', 'two'), part('0.9.2342.19200300.100.1.25', 'corp')),
  );
  const name = parseName(der, 'the name');
  expect(name.fields).toEqual({ OU: 'two' });
  expect(nameText(name)).toBe('0.9.2342.19200300.100.1.25=corp,OU=two,OU=one');
});

test.each([
  ['an empty CN', { CN: '' }],
  ['a CN of 65 characters', { CN: 'a'.repeat(65) }],
  ['a country in words', { C: 'Germany' }],
  ['a country in small letters', { C: 'de' }],
])('refuses to write %s', (_, fields) => {
  expect(() => buildName(fields)).toThrow(expect.objectContaining({ code: 'bad_name' }));
});

test('counts characters, not units of UTF-16', () => {
  expect(() => buildName({ CN: '𝒜'.repeat(64) })).not.toThrow();
});

test('refuses to write and to read control characters (SEC-24)', () => {
  for (const value of ['a\0b', 'a\nb', 'a\u009bb', 'a\u2028b', 'lone \ud800'])
    expect(() => buildName({ CN: value })).toThrow();
  expect(() => parseName(encodeDer(sequence(part('2.5.4.3', 'a\0.evil'))), 'the name')).toThrow('control characters');
});

test('reads every string type of names, and nothing else', () => {
  expect(text(0x0c, '5a6fc3ab')).toBe('Zoë');
  expect(text(0x13, '5a6f')).toBe('Zo');
  expect(text(0x14, '5a6feb')).toBe('Zoë');
  expect(text(0x16, '6140')).toBe('a@');
  expect(text(0x1e, '005a006f00eb')).toBe('Zoë');
  for (const [tag, hex] of [
    [0x0c, 'c3'],
    [0x0c, 'c080'],
    [0x13, 'c3ab'],
    [0x16, 'eb'],
    [0x04, '61'],
    [0x1e, '0000'],
    [0x1e, 'd800'],
  ] as const) {
    expect(() => text(tag, hex)).toThrow(expect.objectContaining({ code: 'malformed' }));
  }
});

test('refuses structures that are not a name', () => {
  const bad = [
    sequence(setOfOne(sequence(oid('2.5.4.3')))),
    sequence(sequence(oid('2.5.4.3'), utf8('a'))),
    setOfOne(sequence()),
  ];
  for (const node of bad)
    expect(() => parseName(encodeDer(node), 'the name')).toThrow(expect.objectContaining({ code: 'malformed' }));
  expect(() => parseName(Buffer.from('30023100', 'hex'), 'the name')).toThrow('empty part');
});
