// The names of certificates in renewal information.
import { expect, test } from 'vitest';
import { certIdText, readCertId } from '../../../src/core/cert-id.ts';

const bytes = (hex: string) => Buffer.from(hex, 'hex');
const b64 = (hex: string) => bytes(hex).toString('base64url');

test('ARI-2: the example of RFC 9773 is read and written', () => {
  const text = 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE';
  const certId = readCertId(text);
  expect(certId).toEqual({
    keyIdentifier: bytes('69885b6b87464041e1b37b847ba0ae2cde01c8d4'),
    serial: bytes('87654321'),
  });
  expect(certId && certIdText(certId)).toBe(text);
});

test('ARI-2: a serial number is the same with and without the zero byte before its high bit', () => {
  for (const serial of ['87654321', '0087654321', '000087654321'])
    expect(readCertId(`${b64('aa')}.${b64(serial)}`)?.serial).toEqual(bytes('87654321'));
  expect(readCertId(`${b64('aa')}.${b64('01ff')}`)?.serial).toEqual(bytes('01ff'));
});

test.each([
  ['nothing', ''],
  ['no dot', b64('aabbcc')],
  ['two dots', `${b64('aa')}.${b64('01')}.${b64('01')}`],
  ['no serial number', `${b64('aa')}.`],
  ['no key identifier', `.${b64('01')}`],
  ['a serial number of zero', `${b64('aa')}.${b64('0000')}`],
  ['padding', 'qg==.AQ=='],
  ['the other base64 alphabet', '+/+/.AQ'],
  ['another spelling of the same bytes', 'qh.AQ'],
  ['a length that no bytes have', 'q.AQ'],
  ['white space', 'qg .AQ'],
  ['a line break at its end', 'qg.AQ\n'],
  ['far too much', `${'qg'.repeat(100)}.AQ`],
])('ARI-5: %s is no CertID', (_, text) => {
  expect(readCertId(text)).toBeUndefined();
});
