// Addresses to listen on, and the sentence for each way in which listening fails.
import { expect, test } from 'vitest';
import { formatAddress, ListenError, listenError } from '../../../src/http/listen-address.ts';

test('an IPv6 address is written in brackets', () => {
  expect(formatAddress({ host: '::1', port: 8443 })).toBe('[::1]:8443');
  expect(formatAddress({ host: 'localhost', port: 0 })).toBe('localhost:0');
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
