// The text of a key file.
import { expect, test } from 'vitest';
import { formatKeyFile, formatSealingKey, parseKeyFile, parseSealingKey } from '../../../src/keys/key-file.ts';

const pkcs8 = Buffer.from('3003020101', 'hex');
const certificate = Buffer.from('3003020102', 'hex');
const origin = { namespace: 'infra', name: 'root\n-----BEGIN PRIVATE KEY-----', uid: 'u"1' };

test('reads back what it wrote, with and without certificate and origin', () => {
  for (const material of [{ pkcs8 }, { pkcs8, certificate }, { pkcs8, origin }, { pkcs8, certificate, origin }]) {
    expect(parseKeyFile(formatKeyFile(material))).toEqual({ certificate: undefined, origin: undefined, ...material });
  }
});

test('takes nothing for a key file that is none', () => {
  const text = formatKeyFile({ pkcs8, certificate, origin });
  expect(parseKeyFile('')).toBeUndefined();
  expect(parseKeyFile(text.replaceAll('PRIVATE KEY', 'PUBLIC KEY'))).toBeUndefined();
  expect(parseKeyFile(text.replaceAll('CERTIFICATE', 'PRIVATE KEY'))).toBeUndefined();
  expect(parseKeyFile(text + text)).toBeUndefined();
  expect(parseKeyFile(text.replace('"uid"', '"id"'))).toBeUndefined();
  expect(parseKeyFile(text.replace(/Acmery-Origin: .*/, 'Acmery-Origin: null'))).toBeUndefined();
  expect(() => parseKeyFile(text.slice(0, -10))).toThrow();
});

test('reads back a sealing key of 32 bytes and no other', () => {
  const key = Buffer.alloc(32, 9);
  expect(parseSealingKey(formatSealingKey(key))).toEqual(key);
  expect(parseSealingKey(formatSealingKey(key.subarray(1)))).toBeUndefined();
  expect(parseSealingKey(formatKeyFile({ pkcs8 }))).toBeUndefined();
});
