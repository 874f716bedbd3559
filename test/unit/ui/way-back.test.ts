// Where signing in leads, and who may send the form.
import { expect, test } from 'vitest';
import type { HttpHead } from '../../../src/http/route.ts';
import { isLedFromElsewhere, isOwnForm } from '../../../src/ui/same-origin.ts';
import { inUi } from '../../../src/ui/way-back.ts';

test.each([
  '/ui',
  '/ui/orders',
  '/ui/orders?state=invalid&after=ordr_01h455vb4pex5vsknk084sn02q',
  '/ui/search?q=*.corp.example',
  '/ui/search?q=2001%3Adb8%3A%3A1',
])('%s is a page to go on to', (path) => {
  expect(inUi(path)).toBe(path);
});

test.each([
  '',
  'https://evil.example/ui',
  '//evil.example/ui',
  '/ui//evil.example',
  '/ui/../v1/orders',
  '/ui/orders\r\nSet-Cookie: a=b',
  '/uix',
  '/v1/orders',
  '/ui/@evil.example',
  '/ui\\evil.example',
  'javascript:alert(1)',
  '/ui/sign-out',
  '/ui/signed-in?next=/ui/signed-in',
  `/ui/search?q=${'a'.repeat(1_000)}`,
])('%j is none', (path) => {
  expect(inUi(path)).toBe('/ui');
});

const head = (headers: Readonly<Record<string, string>>, method = 'POST'): HttpHead => ({
  method,
  url: '/ui/sign-in',
  path: '/ui/sign-in',
  params: {},
  query: new URLSearchParams(),
  headers,
  clientAddress: '192.0.2.1',
  requestId: 'request-1',
  signal: new AbortController().signal,
});

test.each([
  [{ 'sec-fetch-site': 'same-origin' }, true],
  [{ 'sec-fetch-site': 'same-site' }, false],
  [{ 'sec-fetch-site': 'cross-site' }, false],
  [{ 'sec-fetch-site': 'none' }, false],
  [{ origin: 'https://ca.corp.example:8444', host: 'ca.corp.example:8444' }, true],
  [{ origin: 'https://CA.corp.example', host: 'CA.corp.example' }, true],
  [{ origin: 'https://ca.corp.example', host: 'ca.corp.example:8444' }, false],
  [{ origin: 'null', host: 'ca.corp.example' }, false],
  // The browser's own word counts more.
  [{ 'sec-fetch-site': 'cross-site', origin: 'https://ca.corp.example', host: 'ca.corp.example' }, false],
  [{ host: 'ca.corp.example' }, false],
])('a form sent with %j is our own: %s', (headers, isOwn) => {
  expect(isOwnForm(head(headers))).toBe(isOwn);
});

test('only the opening of a page from another site is led here', () => {
  const led = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
  expect(isLedFromElsewhere(head(led, 'GET'))).toBe(true);
  expect(isLedFromElsewhere(head(led))).toBe(false);
  expect(isLedFromElsewhere(head({ ...led, 'sec-fetch-mode': 'no-cors' }, 'GET'))).toBe(false);
  expect(isLedFromElsewhere(head({ ...led, 'sec-fetch-site': 'same-origin' }, 'GET'))).toBe(false);
});
