// Who sees what: every page, asked with every kind of credential, against what /v1 says of the operations that it shows.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiRoutes } from '../../src/api/routes.ts';
import { createApiToken, revokeApiToken } from '../../src/core/api-tokens.ts';
import { type Permission, permissions } from '../../src/core/caller.ts';
import { formatId } from '../../src/core/ids.ts';
import { uiPolicy } from '../../src/ui/headers.ts';
import { type UiPage, uiPages } from '../../src/ui/routes.ts';
import { givenShownWorld, type ShownWorld } from '../support/shown-world.ts';
import { type TestUi, testUi } from '../support/ui.ts';

const command = { kind: 'command', name: 'test' } as const;
const operations = new Map(apiRoutes('0.0.0-test').map((row) => [row.operationId, row]));

let ui: TestUi;
let world: ShownWorld;
const tokens: Record<string, string> = {};
beforeAll(async () => {
  ui = await testUi();
  world = await givenShownWorld(ui.ca);
  const expired = await createApiToken(ui.ca, command, { name: 'expired', permission: 'admin', livesMs: 1 });
  ui.ca.clock.advance(1);
  const revoked = await createApiToken(ui.ca, command, { name: 'revoked', permission: 'admin' });
  await revokeApiToken(ui.ca, command, revoked.view.id);
  Object.assign(tokens, ui.tokens, { expired: expired.token, revoked: revoked.token, garbage: 'garbage' });
});
afterAll(() => ui[Symbol.asyncDispose]());

/** A page with something on it. */
function addressOf({ path, name }: UiPage): string {
  const ids: Readonly<Record<string, string>> = {
    caCert: formatId('scrt', world.currentId),
    directory: formatId('dir', world.webId),
    order: formatId('ordr', world.failedId),
    issuedCert: formatId('icrt', world.cert.id),
    acmeKey: formatId('acmk', world.account.acmeKeyId),
  };
  const query = { acmeKeys: `?directory_id=${formatId('dir', world.webId)}`, search: '?q=shop.corp.example' };
  return path.replace(':id', ids[name] ?? '') + (name === 'acmeKeys' || name === 'search' ? query[name] : '');
}

const ranks: readonly string[] = permissions;
const rankOf = (permission: Permission | 'none'): number => ranks.indexOf(permission);
const sees = (who: Permission | undefined, page: UiPage): number => {
  if (who === undefined) return 401;
  return rankOf(who) >= rankOf(page.permission) ? 200 : 403;
};

describe.each(uiPages.map((page) => [page.path, page] as const))('%s', (_path, page) => {
  test('asks for what the operations of /v1 that it shows ask for', () => {
    const needed = page.shows.map((operationId) => {
      const row = operations.get(operationId);
      expect(row?.method, operationId).toBe('GET');
      return row?.permission ?? 'none';
    });
    expect(page.permission).toBe([...needed].sort((a, b) => rankOf(b) - rankOf(a))[0]);
  });

  test('is shown to those who hold it, in a session or by their own header, and to nobody else', async () => {
    for (const who of ['nobody', 'garbage', 'expired', 'revoked', ...permissions]) {
      const token = tokens[who];
      const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
      const answer = await ui.ask(addressOf(page), { headers });
      expect(`${who}: ${answer.status}`).toBe(
        `${who}: ${sees(
          permissions.find((level) => level === who),
          page,
        )}`,
      );
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(answer.headers['content-security-policy']).toBe(uiPolicy);
      expect(answer.headers['cache-control']).toBe('no-store');
      // Who is turned away learns nothing of what is there.
      if (answer.status !== 200) for (const secret of secrets()) expect(answer.text).not.toContain(secret);
    }
    for (const permission of permissions)
      expect((await ui.page(addressOf(page), permission)).status).toBe(sees(permission, page));
  });

  test('changes nothing, whatever it is asked by', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const headers = { Authorization: `Bearer ${ui.tokens.admin}` };
      expect((await ui.ask(addressOf(page), { method, headers })).status).toBe(405);
    }
  });
});

const secrets = () => ['due.corp.example', 'Corp Issuing', world.cert.serial.toString('hex'), 'mailto:'];

test('readers see no page on which /v1 would not have told them what CA certs are called', async () => {
  for (const page of uiPages.filter(({ permission }) => permission !== 'admin')) {
    const { text } = await ui.page(addressOf(page), 'read');
    for (const name of ['Lab Root', 'Partner Issuing', 'Withdrawn Issuing']) expect(text).not.toContain(name);
    expect(text).not.toContain('href="/ui/signing_certs');
  }
  const { text } = await ui.page('/ui', 'admin');
  expect(text).toContain('Partner Issuing');
});

test('whoever may not see a page is told which permission it takes, and how to come by it', async () => {
  const { status, text } = await ui.page('/ui/signing_certs', 'write');
  expect(status).toBe(403);
  expect(text).toContain('This needs permission admin; the credential has write.');
  expect(text).toContain('action="/ui/sign-out"');
});
