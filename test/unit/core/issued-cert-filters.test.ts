// What callers look for issued certs by.
import { expect, test } from 'vitest';
import { parseSerial, parseSubject } from '../../../src/core/issued-cert-filters.ts';

test.each([
  ['Shop.Corp.Example', 'shop.corp.example'],
  ['*.corp.example', '*.corp.example'],
  ['xn--mnchen-3ya.example', 'xn--mnchen-3ya.example'],
  ['10.1.2.3', '10.1.2.3'],
  ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
])('the subject %s is looked for as %s', (text, value) => {
  expect(parseSubject(text)).toEqual({ ok: true, value });
});

test.each(['', '*', 'a.*.example', 'a b', 'shop.corp.example.', '10.0.0.0/8', 'fe80::1%eth0', '127.1', "'; --"])(
  'no certificate has the subject "%s"',
  (text) => {
    expect(parseSubject(text)).toMatchObject({ ok: false, refusal: expect.stringMatching(/\.$/) });
  },
);

test.each([
  ['1', '01'],
  ['0001', '01'],
  ['abc', '0abc'],
  ['0A:BC', '0abc'],
  ['7f01', '7f01'],
  ['80', '80'],
  ['00:80', '80'],
  ['0', ''],
  ['100', '0100'],
])('the serial number %s is %s', (text, hex) => {
  expect(parseSerial(text).toString('hex')).toBe(hex);
});
