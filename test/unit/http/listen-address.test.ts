// Addresses to listen on, and the sentence for each way in which listening fails.
import { expect, test } from 'vitest';
import { formatAddress, ListenError, listenError, parseListenAddress } from '../../../src/http/listen-address.ts';

test.each([
  ['127.0.0.1:8443', { host: '127.0.0.1', port: 8443 }],
  ['[::1]:8443', { host: '::1', port: 8443 }],
  ['localhost:0', { host: 'localhost', port: 0 }],
  [':65535', { host: '', port: 65535 }],
])('%s is an address', (text, address) => {
  expect(parseListenAddress('X', text)).toEqual(address);
  expect(formatAddress(address)).toBe(text);
});

test.each([
  '',
  '8443',
  '127.0.0.1',
  '127.0.0.1:',
  '::1:8443',
  '[::1]',
  '[localhost]:80',
  'a:65536',
  'a:-1',
  'a b:1',
  'http://a:1',
])('"%s" is none, and the sentence says how to write one', (text) => {
  expect(() => parseListenAddress('ACMERY_ACME_LISTEN', text)).toThrow(
    `ACMERY_ACME_LISTEN: "${text}" is not an address to listen on; write it as 127.0.0.1:8443 or [::1]:8443.`,
  );
});

test.each([
  ['EADDRINUSE', '10.0.0.1:443 is in use by another program'],
  ['EACCES', 'choose a port above 1023'],
  ['EPERM', 'forbids'],
  ['EADDRNOTAVAIL', '10.0.0.1 is not an address of this machine'],
  ['EAFNOSUPPORT', 'the other family'],
  ['ENOTFOUND', 'does not resolve'],
  ['EAI_AGAIN', 'does not resolve'],
  ['EWHATEVER', 'cannot listen on 10.0.0.1:443: boom.'],
])('%s is one sentence that begins with the setting', (code, part) => {
  const cause = Object.assign(new Error('boom'), { code });

  const error = listenError('ACMERY_API_LISTEN', { host: '10.0.0.1', port: 443 }, cause);

  expect(error).toBeInstanceOf(ListenError);
  expect(error).toMatchObject({ setting: 'ACMERY_API_LISTEN', cause });
  expect(error.message).toMatch(/^ACMERY_API_LISTEN: .*\.$/);
  expect(error.message).toContain(part);
});
