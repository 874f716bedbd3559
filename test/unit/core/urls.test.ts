import { describe, expect, test } from 'vitest';
import {
  accountUrl,
  defaultCaaTag,
  directoryUrl,
  publicHostName,
  readAccountUrl,
  requestUrls,
  slugInHost,
} from '../../../src/core/urls.ts';

const at = (publicUrl: string) => ({ publicUrl, httpUrl: 'http://ca.corp.example' });
const ACCOUNT = '01890a5d-ac96-774b-bcce-b302099a8057';

test.each([
  ['https://ca.corp.example', 'https://ca.corp.example/acme/web/directory', 'web.ca.corp.example'],
  ['https://ca.corp.example:8443/pki', 'https://ca.corp.example:8443/pki/acme/web/directory', 'web.ca.corp.example'],
  ['https://{slug}.acme.corp.example', 'https://web.acme.corp.example/acme/web/directory', 'web.acme.corp.example'],
  ['https://{slug}.localhost:8443', 'https://web.localhost:8443/acme/web/directory', 'web.localhost'],
  ['https://localhost:8443', 'https://localhost:8443/acme/web/directory', 'web.acmery.internal'],
  ['https://10.0.0.1', 'https://10.0.0.1/acme/web/directory', 'web.acmery.internal'],
  ['https://[fd00::1]:8443', 'https://[fd00::1]:8443/acme/web/directory', 'web.acmery.internal'],
])('at %s the directory web is %s, and CAA records name it %s', (publicUrl, url, caaTag) => {
  expect(directoryUrl(at(publicUrl), 'web')).toBe(url);
  expect(defaultCaaTag(at(publicUrl), 'web')).toBe(caaTag);
});

test('an account has a URL under each slug and host of its directory', () => {
  expect(accountUrl(at('https://{slug}.corp.example'), 'web', ACCOUNT)).toBe(
    'https://web.corp.example/acme/web/account/acmk_01h455vb4pex5vsknk084sn02q',
  );
});

test.each([
  ['https://ca.corp.example:8443/pki', 'ca.corp.example'],
  ['https://{slug}.acme.corp.example', '*.acme.corp.example'],
  ['https://10.0.0.1', '10.0.0.1'],
  ['https://[fd00::1]:8443', 'fd00::1'],
])('at %s our own certificate names %s', (publicUrl, name) => {
  expect(publicHostName(publicUrl)).toBe(name);
});

describe('what a client may call things', () => {
  const urls = at('https://acme.corp.example');
  const own = at('https://{slug}.acme.corp.example');

  test.each([
    ['https://acme.corp.example', ['https://acme.corp.example/x?y', 'https://acme.corp.example:443/x?y']],
    ['https://acme.corp.example:443', ['https://acme.corp.example/x?y', 'https://acme.corp.example:443/x?y']],
    ['https://acme.corp.example:8443', ['https://acme.corp.example:8443/x?y']],
    ['https://[::1]', ['https://[::1]/x?y', 'https://[::1]:443/x?y']],
    ['https://corp.example/pki', ['https://corp.example/pki/x?y', 'https://corp.example:443/pki/x?y']],
    [own.publicUrl, ['https://web.acme.corp.example/x?y', 'https://web.acme.corp.example:443/x?y']],
  ])('JWS-13: a request at %s', (publicUrl, expected) => {
    expect(requestUrls(at(publicUrl), 'web', '/x?y')).toEqual(expected);
  });

  test('JWS-10: an account URL is read only as it was given', () => {
    for (const some of [urls, own]) {
      const url = accountUrl(some, 'web', ACCOUNT);
      expect(readAccountUrl(some, url)).toEqual({ slug: 'web', id: ACCOUNT });
      for (const other of [`${url}/`, `x${url}`, url.toUpperCase(), url.replace('https', 'http'), `${url}\n`])
        expect(readAccountUrl(some, other)).toBeUndefined();
    }
    // The slug of the path is that of the host.
    expect(readAccountUrl(own, accountUrl(own, 'web', ACCOUNT).replace('https://web', 'https://mail'))).toBeUndefined();
  });

  test('DIR-4: a host names a directory only where each has its own', () => {
    expect(slugInHost(own, 'web.acme.corp.example')).toBe('web');
    expect(slugInHost(own, 'WEB.acme.corp.example:8443')).toBe('web');
    expect(slugInHost(own, 'acme.corp.example')).toBeUndefined();
    expect(slugInHost(own, 'web.acme.corp.example.evil.example')).toBeUndefined();
    expect(slugInHost(urls, 'acme.corp.example')).toBeUndefined();
  });
});
