// What the pages for people say: reasons, states, counts, lists page by page, and nothing that a browser would run.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatId } from '../../src/core/ids.ts';
import { uiPolicy } from '../../src/ui/headers.ts';
import { uiPages } from '../../src/ui/routes.ts';
import { eventually } from '../support/eventually.ts';
import { buildDueCrls } from '../support/given-crl.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenIssuedCert } from '../support/given-issued-cert.ts';
import { type GivenAccount, givenAccount, givenOrder } from '../support/given-order.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';
import { givenFailed, givenShownWorld, hostileName, type ShownWorld } from '../support/shown-world.ts';
import { type TestUi, testUi } from '../support/ui.ts';

let ui: TestUi;
let world: ShownWorld;
beforeAll(async () => {
  ui = await testUi();
  world = await givenShownWorld(ui.ca);
});
afterAll(() => ui[Symbol.asyncDispose]());

/** What a reader sees: tags left out, spaces as one. */
const textOf = (html: string): string =>
  html
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ');
const read = async (path: string): Promise<string> => textOf((await ui.page(path)).text);
/** The texts in the first cells of a table. */
const rowsOf = (html: string): readonly string[] =>
  [...html.matchAll(/<th scope="row"[^>]*>([\s\S]*?)<\/th>/g)].map(([, cell = '']) => textOf(cell).trim());
const nextOf = (html: string): string | undefined =>
  /<a rel="next" href="([^"]*)"/.exec(html)?.[1]?.replaceAll('&amp;', '&');

describe('an order that failed', () => {
  test('says in the list what was expected and what came', async () => {
    expect(await read('/ui/orders?state=invalid')).toContain(
      'rejectedIdentifier Directory web allows names under corp.example; shop.example.org is outside. and 1 more',
    );
  });

  test('says on its page the same for every name', async () => {
    const text = await read(`/ui/orders/${formatId('ordr', world.failedId)}`);
    expect(text).toContain('Why it failed compound Two names are outside of what directory web allows.');
    expect(text).toContain(`shop.example.org : rejectedIdentifier Directory web allows names under corp.example`);
    expect(text).toContain(`${hostileName} : rejectedIdentifier ${hostileName}`);
  });

  test('says what came of every try of its challenge', async () => {
    const text = await read(`/ui/orders/${formatId('ordr', world.challengedId)}`);
    expect(text).toContain('blog.corp.example ✕ invalid http-01 ✕ invalid 4 tries');
    expect(text).toContain('192.0.2.7 refused the connection.');
    expect(text).toContain('192.0.2.7 answered 404 in the place of 200.');
  });

  test('only because its time was over says that too, before a sweep has come by', async () => {
    const id = await givenOrder(ui.ca, world.account, { expires_at: ui.ca.clock.now() });
    const text = await read(`/ui/orders/${formatId('ordr', id)}`);
    expect(text).toContain('It was not finalized before it expired.');
  });
});

describe('the overview', () => {
  test('names what needs attention', async () => {
    const text = await read('/ui');
    expect(text).toMatch(/Lab Root ends in 19 days: make its successor, and roll over to it\./);
    expect(text).toContain('Partner Issuing waits for its certificate: its CSR is to be signed elsewhere.');
    expect(text).toContain('2 orders failed in web within 24 hours, and 1 went well.');
  });

  test('lists first what ends first, and says whose renewal is late', async () => {
    const { text } = await ui.page('/ui/issued_certs');
    expect(rowsOf(text)).toEqual([
      'late.corp.example',
      'due.corp.example , www.due.corp.example',
      'shop.corp.example , www.shop.corp.example , 10.1.2.3 and 2 more',
    ]);
    expect(textOf(text)).toMatch(/late\.corp\.example ✓ valid ✕ renewal late in 47 hours/);
    expect(textOf(text)).toMatch(/due\.corp\.example ✓ valid ○ renewal due in 25 days/);
    // It has been revoked.
    expect(text).not.toContain('old.corp.example');
  });
});

describe('CA certs', () => {
  test('stand below the one that signed them, with state, CRL and who issues from them', async () => {
    const { text } = await ui.page('/ui/signing_certs');
    const rows = rowsOf(text).map((row) => row.replace(/ (root|intermediate) , level (\d)/, ' $2'));
    expect(rows).toContain('Corp Root 1');
    expect(rows).toContain('Corp Issuing 2025 2');
    expect(rows.indexOf('Corp Issuing 2025 2')).toBe(rows.indexOf('Corp Root 1') + 1);
    expect(rows.indexOf('Lab Issuing 2')).toBe(rows.indexOf('Lab Root 1') + 1);
    const flat = textOf(text);
    expect(flat).toMatch(/Withdrawn Issuing intermediate , level 2 ✕ revoked/);
    expect(flat).toMatch(/Corp Issuing 2025 [^✓]*✓ valid .*?✓ fresh .*?web until 2026-07-20/);
  });

  test('whose CRL gets old, or is overdue, are told of', async () => {
    await using own = await testUi();
    const later = await givenShownWorld(own.ca);
    own.ca.clock.advance(4 * 86_400_000);
    expect(textOf((await own.page('/ui')).text)).toContain('The CRL of Corp Root is old.');
    own.ca.clock.advance(4 * 86_400_000);
    const cookie = await own.signIn(own.tokens.admin);
    const { text } = await own.ask(`/ui/signing_certs/${formatId('scrt', later.rootId)}`, { cookie });
    expect(textOf(text)).toContain('✕ overdue');
  });

  test('say what hangs on them, and where relying parties look', async () => {
    const text = await read(`/ui/signing_certs/${formatId('scrt', world.formerId)}`);
    expect(text).toContain(`http://pki.corp.example/crl/${formatId('scrt', world.formerId)}.crl`);
    expect(text).toContain('Live leaves 2');
    expect(text).toContain('Signed by Corp Root');
  });
});

describe('a directory', () => {
  test('shows its rules, its counts, and the generations of its CA', async () => {
    const text = await read(`/ui/directories/${formatId('dir', world.webId)}`);
    for (const part of [
      '1 accounts',
      '1 issued in 24 h',
      '2 failed in 24 h',
      '3 live certificates',
      'https://acme.corp.example/acme/web/directory',
      '**.corp.example corp.example',
      'Signed by Corp Issuing 2026',
      'Signed before by Corp Issuing 2025',
    ])
      expect(text).toContain(part);
  });
});

describe('a list', () => {
  test('of orders goes on page by page, each order once, whatever is filtered', async () => {
    await using own = await testUi();
    const { account, directoryId } = await aDirectory(own);
    const other = await aDirectory(own);
    for (let count = 0; count < 60; count += 1) {
      own.ca.clock.advance(1_000);
      await givenFailed(
        own.ca,
        count % 3 === 0 ? other.account : account,
        { type: 'dns', detail: 'no' },
        `n${count}.x`,
      );
    }
    const newest = Array.from({ length: 60 }, (_, index) => `n${59 - index}.x`);
    const here = newest.filter((name) => Number(name.slice(1, -2)) % 3 !== 0);
    const id = formatId('dir', directoryId);
    expect(await allOf(own, '/ui/orders')).toEqual(newest);
    expect(await allOf(own, '/ui/orders?state=invalid')).toEqual(newest);
    expect(await allOf(own, `/ui/orders?directory_id=${id}`)).toEqual(here);
    expect(await allOf(own, `/ui/orders?directory_id=${id}&state=invalid`)).toEqual(here);
    expect(await allOf(own, `/ui/orders?acme_key_id=${formatId('acmk', account.acmeKeyId)}`)).toEqual(here);
    expect(await allOf(own, '/ui/orders?state=valid')).toEqual([]);
  });

  test('of certificates that end goes on by their ends, over all CA certs', async () => {
    await using own = await testUi();
    const [one, other] = [await aDirectory(own), await aDirectory(own)];
    for (let count = 0; count < 30; count += 1) {
      const { account } = count % 2 === 0 ? one : other;
      // Several end at one time.
      await givenIssuedCert(own.ca, account, { names: [`n${count}.x`], validForDays: 10 + Math.floor(count / 4) });
    }
    const shown = await allOf(own, '/ui/issued_certs');
    expect(new Set(shown).size).toBe(30);
    const ends = shown.map((name) => Math.floor(Number(name.slice(1, -2)) / 4));
    expect(ends).toEqual([...ends].sort((a, b) => a - b));
    expect(
      await allOf(own, `/ui/issued_certs?directory_id=${formatId('dir', one.directoryId)}&state=valid`),
    ).toHaveLength(15);
  });

  async function aDirectory(own: TestUi): Promise<{ account: GivenAccount; directoryId: string }> {
    const issuer = await givenIntermediate(own.ca);
    const { id } = await givenDirectory(own.ca, { issuer });
    return { account: await givenAccount(own.ca, issuer, id), directoryId: id };
  }

  async function allOf(own: TestUi, first: string): Promise<readonly string[]> {
    const names: string[] = [];
    for (let path: string | undefined = first; path !== undefined; ) {
      const { status, text } = await own.page(path);
      expect(status).toBe(200);
      names.push(...rowsOf(text));
      path = nextOf(text);
    }
    return names;
  }
});

describe('the search', () => {
  test.each([
    ['a name', () => 'shop.corp.example'],
    ['a name in other letters', () => 'Shop.Corp.Example'],
    ['a wildcard', () => '*.shop.corp.example'],
    ['an address', () => '10.1.2.3'],
    ['a serial number', () => world.cert.serial.toString('hex')],
    [
      'a serial number with colons',
      () => (world.cert.serial.toString('hex').toUpperCase().match(/../g) ?? []).join(':'),
    ],
  ])('finds a certificate by %s', async (_what, text) => {
    const { status, text: html } = await ui.page(`/ui/search?${new URLSearchParams({ q: text() })}`);
    expect(status).toBe(200);
    expect(rowsOf(html)).toContain('shop.corp.example , www.shop.corp.example , 10.1.2.3 and 2 more');
  });

  test('finds certificates and accounts by the thumbprint of their key, and directories by their slug', async () => {
    const { text } = await ui.page(`/ui/issued_certs/${formatId('icrt', world.cert.id)}`);
    const thumbprint = /Key thumbprint<\/dt><dd><code>([\w-]{43})</.exec(text)?.[1] ?? '';
    expect(rowsOf((await ui.page(`/ui/search?q=${thumbprint}`)).text).length).toBeGreaterThan(0);
    expect(await read('/ui/search?q=web')).toContain('Directory web');
    expect(await read('/ui/search?q=no-such-slug')).toContain(
      'Nothing has it as the slug of a directory, or as a name or address of a certificate.',
    );
  });

  test('leads to the page of an id at once', async () => {
    for (const [id, path] of [
      [formatId('icrt', world.cert.id), 'issued_certs'],
      [formatId('ordr', world.failedId), 'orders'],
      [formatId('dir', world.webId), 'directories'],
      [formatId('scrt', world.rootId), 'signing_certs'],
      [formatId('acmk', world.account.acmeKeyId), 'acme_keys'],
    ]) {
      const answer = await ui.page(`/ui/search?q=%20${id}%20`);
      expect(answer).toMatchObject({ status: 303, headers: { location: `/ui/${path}/${id}` } });
    }
  });

  test.each(['"><script>alert(1)</script>', '%', "'; drop table orders; --", '\u202egnp.exe', 'a'.repeat(5_000), '\0'])(
    'takes %j for text',
    async (text) => {
      const { status, text: html } = await ui.page(`/ui/search?${new URLSearchParams({ q: text })}`);
      expect(status).toBe(200);
      expect(html).not.toContain('<script>');
    },
  );
});

const harmfulNames = /^<(script|img|iframe|object|embed|base)|\sstyle=|\son\w+=/i;
const harmfulPlaces = /\s(src|href|action|content)="([^"]*javascript:|(https?:)?\/\/)/i;

test('every page shows what means harm as text, and runs nothing', async () => {
  const ids: Readonly<Record<string, string>> = {
    caCert: formatId('scrt', world.currentId),
    directory: formatId('dir', world.hostileId),
    order: formatId('ordr', world.failedId),
    issuedCert: formatId('icrt', world.cert.id),
    acmeKey: formatId('acmk', world.account.acmeKeyId),
  };
  for (const { path, name } of uiPages) {
    const query =
      name === 'acmeKeys'
        ? `?directory_id=${formatId('dir', world.hostileId)}`
        : `?q=${encodeURIComponent(hostileName)}`;
    const { status, text, headers } = await ui.page(path.replace(':id', ids[name] ?? '') + query);
    expect(status, path).toBe(200);
    expect(headers['content-security-policy']).toBe(uiPolicy);
    for (const tag of text.match(/<[^>]*>/g) ?? []) {
      expect(tag.replace(/"[^"]*"/g, '""')).not.toMatch(harmfulNames);
      expect(tag).not.toMatch(harmfulPlaces);
    }
  }
  const { text } = await ui.page('/ui/directories');
  expect(text).toContain('&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt;&#39;');
});

test('a service that is well says so, to readers no more than they may see', async () => {
  await using own = await testUi();
  await givenDirectory(own.ca);
  await buildDueCrls(own.ca);
  expect(textOf((await own.page('/ui', 'admin')).text)).toContain('calm Nothing needs attention now.');
  expect(textOf((await own.page('/ui', 'read')).text)).toContain('calm Nothing that you may see needs attention now.');
});

describe('an empty service', () => {
  test('says what to do first, in words that /v1 and the custom resources take', async () => {
    await using own = await testUi();
    const { text } = await own.page('/ui');
    expect(text).toContain('There is no CA cert yet.');
    expect(text).not.toContain('Nothing needs attention');
    const { text: signing } = await own.page('/ui/signing_certs');
    const unescaped = signing.replaceAll('&quot;', '"').replaceAll('&#39;', "'");
    const body = /-d '(\{.*\})'/.exec(unescaped)?.[1] ?? '';
    const made = await own.ask('/v1/signing_certs', {
      method: 'POST',
      headers: { Authorization: `Bearer ${own.tokens.admin}`, 'Content-Type': 'application/json' },
      body,
    });
    expect(made.status).toBe(201);
    expect(textOf((await own.page('/ui/signing_certs')).text)).toContain('Corp Root');
  });
});

describe('what goes wrong', () => {
  test.each([
    ['/ui/orders/ordr_01h455vb4pex5vsknk084sn02q', 404, 'There is no order ordr_01h455vb4pex5vsknk084sn02q.'],
    ['/ui/orders/<b>', 404, 'There is no order "<b>".'],
    ['/ui/nothing', 404, 'Nothing is at this path.'],
    [
      '/ui/orders?state=open',
      422,
      'The filter state in this address is none of pending, ready, processing, valid, invalid.',
    ],
    [
      '/ui/orders?directory_id=web',
      422,
      'The filter directory_id in this address is not the id of a directory, which begins with dir_.',
    ],
    ['/ui/orders?after=x', 400, 'There is no item with the id given in "after"; begin again without it.'],
    ['/ui/acme_keys', 422, 'Account keys are listed by directory: choose one first.'],
  ])('%s is answered by a page: %i', async (path, status, sentence) => {
    const answer = await ui.page(path);
    expect(answer.status).toBe(status);
    expect(answer.headers['content-security-policy']).toBe(uiPolicy);
    expect(textOf(answer.text)).toContain(sentence);
    expect(answer.text).toContain(String(answer.headers['x-request-id']));
  });

  test('a form that is too long, or of a method that is not taken', async () => {
    const long = await ui.ask('/ui/sign-in', { form: { token: 'a'.repeat(20_000) } });
    expect(long.status).toBe(413);
    expect(long.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(textOf(long.text)).toContain('Body too large');
    expect((await ui.ask('/ui/sign-in', { method: 'PUT' })).status).toBe(405);
  });

  test('a database that is away is told of as that, and the next page is whole again', async () => {
    await using own = await testUi();
    const cookie = await own.signIn(own.tokens.admin);
    await own.ca.database.close();
    const answer = await own.ask('/ui', { cookie });
    expect(answer.status).toBe(503);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.headers['retry-after']).toMatch(/^[1-5]$/);
    expect(textOf(answer.text)).toContain('The database does not answer for the moment. Try again.');
    expect(answer.headers['set-cookie']).toBeUndefined();
  });
});

test('what is not /ui stays as it was', async () => {
  const answer = await ui.ask('/v1/nothing');
  expect(answer).toMatchObject({ status: 404, headers: { 'content-type': 'application/problem+json' } });
  expect(answer.text).toContain('/ui shows it to people.');
  expect((await ui.ask('/uix')).headers['content-type']).toBe('application/problem+json');
});

test('the style sheet may be kept for ever, for its name is that of its bytes', async () => {
  const { text } = await ui.page('/ui');
  const path = /<link rel="stylesheet" href="([^"]+)"/.exec(text)?.[1] ?? '';
  const answer = await ui.ask(path);
  expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'text/css; charset=utf-8' } });
  expect(answer.headers['cache-control']).toBe('public, max-age=31536000, immutable');
  expect(answer.text).not.toMatch(/@import|url\(/);
});

test('requests are counted and logged by the route, never by what was looked for', async () => {
  await ui.page('/ui/search?q=whoever.corp.example');
  await eventually('the request is logged', () => ui.logLines.join('').includes('"route":"/ui/search"'));
  expect(ui.logLines.join('')).not.toContain('whoever.corp.example');
  expect(await ui.metrics()).toContain('route="/ui/orders/:id"');
});
