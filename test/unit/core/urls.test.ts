import { expect, test } from 'vitest';
import { accountUrl, defaultCaaTag, directoryUrl, publicHostName } from '../../../src/core/urls.ts';

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
