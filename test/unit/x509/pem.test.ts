// PEM text as people paste it.
import { expect, test } from 'vitest';
import { readOnlyPem, readPemBlocks, toPem } from '../../../src/x509/pem.ts';

const der = Buffer.from('3003020101', 'hex');
const pem = toPem('CERTIFICATE', der);
const read = (text: string) => readPemBlocks(text, 'the text');

test('writes lines of 64 characters and reads them back', () => {
  for (const length of [1, 47, 48, 49, 96, 1_000]) {
    const bytes = Buffer.alloc(length, 0xa5);
    const text = toPem('CERTIFICATE', bytes);
    expect(text.split('\n').every((line) => line.length <= 64)).toBe(true);
    expect(text).not.toContain('\n\n');
    expect(read(text)).toEqual([{ label: 'CERTIFICATE', headers: [], der: bytes }]);
  }
});

test('takes Windows line ends, indentation, text around blocks and several blocks', () => {
  const text = `Certificate:\n    Data: 1\n${pem.replaceAll('\n', '\r\n')}\n${pem.replaceAll(/^/gm, '    ')}`;
  expect(read(text)).toHaveLength(2);
  expect(read('nothing here')).toEqual([]);
});

test.each([
  ['a block without end', pem.replace(/-----END.*/, '')],
  ['an end without begin', pem.replace(/-----BEGIN.*/, '')],
  ['another label at the end', pem.replace('END CERTIFICATE', 'END KEY')],
  ['a block inside a block', pem.replace('\n', `\n${pem}`)],
  ['characters that are not base64', pem.replace('MAMCAQE', 'MAM!AQE')],
  ['the alphabet of base64url', toPem('CERTIFICATE', Buffer.from('fbefbe', 'hex')).replaceAll('+', '-')],
  ['base64 with bits after its end', pem.replace('MAMCAQE=', 'MAMCAQF=')],
  ['a block without contents', '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----'],
  ['all lines joined', pem.replaceAll('\n', ' ')],
  ['line breaks as two characters', pem.replaceAll('\n', '\\n')],
])('refuses %s', (_, text) => {
  expect(() => read(text)).toThrow(expect.objectContaining({ code: 'malformed' }));
});

test('refuses long text, and reads hostile text in one pass', () => {
  expect(() => read('a'.repeat(300_000))).toThrow(expect.objectContaining({ code: 'too_large' }));
  expect(() => read('-----BEGIN A-----\n'.repeat(14_000))).toThrow('inside the block');
  expect(read('-----BEGIN'.repeat(26_000))).toEqual([]);
  expect(read('-----\n'.repeat(40_000))).toEqual([]);
});

test('a single block is demanded by name, with a hint where it helps', () => {
  const only = (text: string) =>
    readOnlyPem(text, 'the certificate', ['CERTIFICATE'], { 'PRIVATE KEY': 'Keep it secret.' });
  expect(only(pem).der).toEqual(der);
  expect(() => only('')).toThrow(
    'The certificate must be PEM text with the line "BEGIN CERTIFICATE"; no PEM block was found.',
  );
  expect(() => only(pem + pem)).toThrow('found 2: CERTIFICATE, CERTIFICATE');
  expect(() => only(toPem('PRIVATE KEY', der))).toThrow('not "PRIVATE KEY". Keep it secret.');
});
