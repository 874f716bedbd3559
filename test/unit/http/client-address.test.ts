// Who the client is, as a table of what stands in the headers.
import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, test } from 'vitest';
import { clientAddress, peerAt, trustedProxies } from '../../../src/http/client-address.ts';

const trusted = trustedProxies(['10.0.0.0/8', 'fd00::/8', '192.0.2.7', '::1']);
const PROXY = '10.0.0.1';

const clientOf = (peer: string, headers: IncomingHttpHeaders) => clientAddress(peerAt(peer, trusted), headers, trusted);

describe('X-Forwarded-For', () => {
  test.each([
    ['names the client', '203.0.113.5', '203.0.113.5'],
    [
      'ends in the client: what stands before it the client wrote itself',
      '127.0.0.1, 10.9.9.9, 203.0.113.5',
      '203.0.113.5',
    ],
    ['ends in trusted proxies', '198.51.100.1, 203.0.113.5, 10.0.0.3 ,fd00::2', '203.0.113.5'],
    ['holds trusted proxies only', '10.0.0.5, 10.0.0.3', '10.0.0.5'],
    ['has a port', '203.0.113.5:4711', '203.0.113.5'],
    ['has a bracketed IPv6 address', '[2001:DB8::1]', '2001:db8::1'],
    ['has a bracketed IPv6 address with a port', '[2001:db8:0:0::1]:4711', '2001:db8::1'],
    ['has a bare IPv6 address', '2001:db8::1', '2001:db8::1'],
    ['has an IPv4-mapped address', '::ffff:203.0.113.5', '203.0.113.5'],
    ['has an IPv4-mapped address in hexadecimal', '::ffff:cb00:7105', '203.0.113.5'],
    ['is empty', '', PROXY],
    ['ends in a comma', '203.0.113.5,', PROXY],
    ['holds a name', 'localhost', PROXY],
    ['holds an octal address', '010.0.0.1', PROXY],
    ['holds a short address', '127.1', PROXY],
    ['holds garbage before a proxy', 'unknown, 10.0.0.3', PROXY],
    ['holds garbage before the client', 'unknown, 203.0.113.5', '203.0.113.5'],
    ['holds a quoted address', '"203.0.113.5"', PROXY],
  ])('that %s', (_what, header, client) => {
    expect(clientOf(PROXY, { 'x-forwarded-for': header })).toBe(client);
  });
});

describe('Forwarded', () => {
  test.each([
    ['names the client', 'for=203.0.113.5', '203.0.113.5'],
    ['is written in other case with other pairs', 'Proto=https;FOR=203.0.113.5;by=10.0.0.1', '203.0.113.5'],
    ['has a quoted IPv6 address with a port', 'for="[2001:db8::1]:4711"', '2001:db8::1'],
    ['has a quoted address with escapes', 'for="203.0.113\\.5"', '203.0.113.5'],
    ['has several elements', 'for=1.1.1.1, for=203.0.113.5;proto=https, for=10.0.0.3', '203.0.113.5'],
    ['hides a comma in quotes', 'for=203.0.113.5;host="a,for=1.1.1.1"', '203.0.113.5'],
    ['hides a quote in quotes', 'for=203.0.113.5;host="a\\",for=1.1.1.1"', '203.0.113.5'],
    ['leaves a quote open', 'for="203.0.113.5', PROXY],
    ['says unknown', 'for=unknown', PROXY],
    ['is obfuscated', 'for=_hidden', PROXY],
    ['names no client', 'proto=https', PROXY],
    ['names two in one element', 'for=203.0.113.5;for=203.0.113.6', PROXY],
    ['has an unquoted IPv6 address', 'for=[2001:db8::1]', PROXY],
    ['is garbage', ';;==', PROXY],
  ])('that %s', (_what, header, client) => {
    expect(clientOf(PROXY, { forwarded: header })).toBe(client);
  });
});

describe('both headers', () => {
  test('that name the same client are believed', () => {
    const headers = { 'x-forwarded-for': '2001:db8::1', forwarded: 'for="[2001:db8:0::1]:80"' };
    expect(clientOf(PROXY, headers)).toBe('2001:db8::1');
  });

  test.each([
    ['203.0.113.5', 'for=127.0.0.1'],
    ['127.0.0.1', 'for=203.0.113.5'],
    ['203.0.113.5', 'garbage'],
  ])('that differ give no client: %s and %s', (xForwardedFor, forwarded) => {
    expect(clientOf(PROXY, { 'x-forwarded-for': xForwardedFor, forwarded })).toBeUndefined();
  });
});

describe('the peer', () => {
  test.each([
    ['203.0.113.9', '203.0.113.9'],
    ['192.0.2.8', '192.0.2.8'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['2001:DB8::9', '2001:db8::9'],
    ['fe80::1%eth0', 'fe80::1'],
  ])('%s is no proxy: its headers are not looked at', (peer, client) => {
    const headers = { 'x-forwarded-for': '127.0.0.1', forwarded: 'for=127.0.0.2' };
    expect(clientOf(peer, headers)).toBe(client);
  });

  test.each(['192.0.2.7', '::ffff:10.1.2.3', '::1', 'FD00:0::7'])('%s is a proxy', (peer) => {
    expect(clientOf(peer, { 'x-forwarded-for': '203.0.113.5' })).toBe('203.0.113.5');
  });

  test('is the client where a proxy says nothing', () => {
    expect(clientOf('::ffff:10.1.2.3', {})).toBe('10.1.2.3');
  });
});

test.each([
  '',
  'proxy.example',
  '10.0.0.0/33',
  '10.0.0.0/',
  '10.0.0.0/8/8',
  '10.0.0.0/-1',
  '::/129',
  '010.0.0.0/8',
  '10.0.0/8',
])('"%s" is no range of proxies', (range) => {
  expect(() => trustedProxies([range])).toThrow('neither an IP address nor a CIDR');
});
