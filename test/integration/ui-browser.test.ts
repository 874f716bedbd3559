// The pages for people as a person meets them: in a real browser, on a phone and on a desk, in light and in dark, with the
// keyboard alone. ACMERY_SCREENSHOTS=<folder> keeps what it looked like.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import axe from 'axe-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { formatId } from '../../src/core/ids.ts';
import { type Browser, findBrowser, openBrowser, type Tab } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { givenShownWorld } from '../support/shown-world.ts';
import { type TestUi, testUi } from '../support/ui.ts';

const command = findBrowser();
const folder = process.env.ACMERY_SCREENSHOTS;
const views = [
  { name: 'phone', width: 360, height: 780 },
  { name: 'desk', width: 1280, height: 900 },
] as const;
const schemes = ['light', 'dark'] as const;
/** The documentation has a hundred parts that open, all of one kind. */
const OPENED = 5;
const PAGE_MS = 60_000;

let ui: TestUi;
let browser: Browser;
let tab: Tab;
const paths: Record<string, string> = {};

beforeAll(async () => {
  if (command === undefined) return;
  ui = await testUi();
  browser = await openBrowser(command);
  tab = await browser.openTab(ui.url);
  await signIn(tab, ui.tokens.admin);
  await look('empty', '/ui');
  const world = await givenShownWorld(ui.ca);
  // The session began before the clock of the service went on by two months.
  await signIn(tab, ui.tokens.admin);
  const directory = formatId('dir', world.webId);
  Object.assign(paths, {
    overview: '/ui',
    'ca certs': '/ui/signing_certs',
    'ca cert': `/ui/signing_certs/${formatId('scrt', world.currentId)}`,
    directories: '/ui/directories',
    directory: `/ui/directories/${directory}`,
    'hostile directory': `/ui/directories/${formatId('dir', world.hostileId)}`,
    orders: '/ui/orders',
    'failed orders': '/ui/orders?state=invalid',
    order: `/ui/orders/${formatId('ordr', world.failedId)}`,
    'order with challenges': `/ui/orders/${formatId('ordr', world.challengedId)}`,
    certificates: '/ui/issued_certs',
    'certificates of a directory': `/ui/issued_certs?directory_id=${directory}`,
    certificate: `/ui/issued_certs/${formatId('icrt', world.cert.id)}`,
    accounts: `/ui/acme_keys?directory_id=${directory}`,
    account: `/ui/acme_keys/${formatId('acmk', world.account.acmeKeyId)}`,
    search: '/ui/search?q=shop.corp.example',
    'search in vain': '/ui/search?q=nobody.corp.example',
    'not found': '/ui/orders/no-such-order',
    documentation: '/v1/docs',
  });
}, PAGE_MS);
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await ui?.[Symbol.asyncDispose]();
});
beforeEach(({ skip }) => {
  if (command === undefined) skip('no Chromium is in PATH (chromium, chromium-browser, google-chrome)');
});

async function signIn(on: Tab, token: string): Promise<void> {
  await on.send('Network.clearBrowserCookies');
  await on.goTo('/ui');
  await eventually('the field has the focus', () => on.evaluate("document.activeElement.id === 'token'"));
  await on.type(token);
  await on.during(() => on.press('Enter'));
}

type Seen = { readonly view: string; readonly faults: readonly string[] };

/** A page in every view: what runs over its edge, and what axe finds at fault. */
async function look(name: string, path: string): Promise<readonly Seen[]> {
  await tab.goTo(path);
  await tab.evaluate(axe.source);
  await tab.evaluate(
    `[...document.querySelectorAll('details')].slice(0, ${OPENED}).forEach((one) => { one.open = true; })`,
  );
  const seen: Seen[] = [];
  for (const { name: size, width, height } of views)
    for (const scheme of schemes) {
      await tab.setView(width, height, scheme);
      const view = `${name}-${size}-${scheme}`;
      seen.push({ view, faults: [...(await overflowing()), ...(await axeFaults())] });
      if (folder !== undefined) await screenshot(folder, view);
    }
  return seen;
}

async function screenshot(into: string, view: string): Promise<void> {
  await mkdir(into, { recursive: true });
  await tab.screenshot(join(into, `${view.replaceAll(' ', '-')}.png`));
}

/** What scrolls by itself may be as wide as it likes. */
const overflowing = () =>
  tab.evaluate<readonly string[]>(`(() => {
    const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    return wide > 0 ? ['runs over the edge by ' + wide + ' pixels'] : [];
  })()`);

/** What is not opened is not shown. */
const axeFaults = () =>
  tab.evaluate<
    readonly string[]
  >(`axe.run({ exclude: ['details:not([open])'] }, { resultTypes: ['violations'] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) =>
      id + ' at ' + target.join(' ') + ': ' + failureSummary)))`);

describe('every page', () => {
  const names = [
    'overview',
    'ca certs',
    'ca cert',
    'directories',
    'directory',
    'hostile directory',
    'orders',
    'failed orders',
    'order',
    'order with challenges',
    'certificates',
    'certificates of a directory',
    'certificate',
    'accounts',
    'account',
    'search',
    'search in vain',
    'not found',
    'documentation',
  ];

  test.each(names)(
    'fits phones and desks, and is accessible in light and dark: %s',
    { timeout: PAGE_MS },
    async (name) => {
      const seen = await look(name, paths[name] ?? '');
      expect(seen.filter(({ faults }) => faults.length > 0)).toEqual([]);
      expect(tab.status).toBe(name === 'not found' ? 404 : 200);
    },
  );

  test('asks no other host for anything, breaks no policy, and runs nothing', async () => {
    const hosts = new Set(tab.requests.map((url) => new URL(url).host));
    expect([...hosts]).toEqual([new URL(ui.url).host]);
    expect(tab.complaints).toEqual([]);
  });
});

describe('somebody new', () => {
  test('meets a sign-in page that fits and is accessible', { timeout: PAGE_MS }, async () => {
    await tab.send('Network.clearBrowserCookies');
    const seen = await look('sign in', '/ui');
    expect(seen.filter(({ faults }) => faults.length > 0)).toEqual([]);
    await signIn(tab, 'not-the-token');
    expect(await tab.evaluate('document.querySelector("[role=alert]").textContent')).toContain('not known here');
    expect(await tab.evaluate('document.activeElement.id')).toBe('token');
  });

  test('goes on where the way had led, by the keyboard alone', async () => {
    const own = await browser.openTab(ui.url);
    await own.goTo('/ui/orders?state=invalid');
    await own.type(ui.tokens.read);
    await own.during(() => own.press('Enter'));
    expect(await own.evaluate('location.pathname + location.search')).toBe('/ui/orders?state=invalid');
    expect(await own.evaluate('document.cookie')).toBe('');
    const reached: string[] = [];
    for (let step = 0; step < 40; step += 1) {
      await own.press('Tab');
      const at = await own.evaluate<string>(
        `(() => { const { tagName, textContent, id } = document.activeElement; return (id || textContent || tagName).trim(); })()`,
      );
      reached.push(at);
    }
    for (const stop of ['Skip to the content', 'Orders', 'q', 'Search', 'Sign out', 'invalid', 'shop.example.org'])
      expect(reached).toContain(stop);
    // A reader may not list CA certs, so nothing leads there.
    expect(reached).not.toContain('CA certs');
  });

  test('who comes by a link on another site is shown the page, not asked for the token again', async () => {
    // A tab of its own: its last page may still be loading when this ends.
    const own = await browser.openTab(ui.url);
    await signIn(own, ui.tokens.admin);
    const elsewhere = `data:text/html,<a href="${ui.url}/ui/directories">there</a>`;
    await own.goTo(elsewhere);
    await own.during(() => own.evaluate('document.querySelector("a").click()'));
    // The first answer sends the browser on from our own page, which may take a moment.
    await eventually('the page is shown', async () => {
      const heading = await own.evaluate<string>('document.querySelector("h1")?.textContent').catch(() => '');
      return heading === 'Directories';
    });
  });

  test('signs out, and the way back leads to the token', async () => {
    await signIn(tab, ui.tokens.admin);
    await tab.during(() => tab.evaluate('document.querySelector(".who button").click()'));
    expect(await tab.evaluate('location.pathname')).toBe('/ui/sign-in');
    await tab.goTo('/ui');
    expect(tab.status).toBe(401);
  });

  test('prints a page without what only a screen needs', async () => {
    await signIn(tab, ui.tokens.admin);
    await tab.goTo('/ui');
    await tab.setMedia('light', 'print');
    const shown = await tab.evaluate('getComputedStyle(document.querySelector("header nav")).display');
    expect(shown).toBe('none');
    await tab.setMedia('light');
  });
});
