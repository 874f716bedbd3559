// What all pages have in common: head, navigation, search, who is signed in, and from when the page is.
import type { Caller } from '../../core/caller.ts';
import { mayDo } from '../../core/caller.ts';
import { type Html, html } from '../../html/html.ts';
import { iconPath, stylePath } from '../assets.ts';
import type { UiPage } from '../routes.ts';
import { absolute } from './times.ts';

/** From when the page is, and of which version. */
export type Made = { readonly now: Date; readonly version: string };

type Shell = {
  readonly title: string;
  readonly main: Html;
  /** Undefined where nobody is signed in, or that is not known. */
  readonly caller?: Caller;
  /** Path of the page, for the navigation. */
  readonly path?: string;
  readonly searched?: string;
  /** Elements of the head. */
  readonly head?: Html;
};

const tabs: readonly (readonly [path: string, text: string, needs: UiPage['permission']])[] = [
  ['/ui', 'Overview', 'read'],
  ['/ui/signing_certs', 'CA certs', 'admin'],
  ['/ui/directories', 'Directories', 'read'],
  ['/ui/orders', 'Orders', 'read'],
  ['/ui/issued_certs', 'Certificates', 'read'],
];

export const document = (
  { title, main, caller, path = '', searched = '', head }: Shell,
  { now, version }: Made,
): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · Acmery</title>
<link rel="stylesheet" href="${stylePath}">
<link rel="icon" type="image/svg+xml" href="${iconPath}">
${head}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<p class="brand"><a href="/ui">Acmery</a></p>
${caller && navigation(caller, path)}
${caller && searchForm(searched)}
${caller && whoIs(caller)}
</header>
<main id="main">
<h1>${title}</h1>
${main}
</main>
<footer>
<p>As of <time datetime="${now.toISOString()}">${absolute(now)}</time>. Acmery ${version}. <a href="/v1/docs">Documentation of /v1</a></p>
</footer>
</body>
</html>
`.html;

const navigation = (caller: Caller, path: string): Html =>
  html`<nav aria-label="Pages"><ul>${tabs
    .filter(([, , needs]) => mayDo(caller, needs))
    .map(([target, text]) => html`<li><a href="${target}"${currentOf(target, path)}>${text}</a></li>`)}</ul></nav>`;

/** The page itself, or the list above it. */
function currentOf(target: string, path: string): Html | undefined {
  if (target === path) return html` aria-current="page"`;
  return target !== '/ui' && path.startsWith(`${target}/`) ? html` aria-current="true"` : undefined;
}

const searchForm = (searched: string): Html => html`<form class="search" role="search" action="/ui/search" method="get">
<label class="hidden" for="q">Name, address, serial number, thumbprint, slug or id</label>
<input type="search" id="q" name="q" value="${searched}" maxlength="300" placeholder="Name, serial, thumbprint, id" autocomplete="off" spellcheck="false" autocapitalize="none" required>
<button type="submit">Search</button>
</form>`;

const kinds: Readonly<Partial<Record<Caller['kind'], string>>> = {
  api_token: 'API token',
  bootstrap: 'bootstrap token',
  service_account: 'ServiceAccount',
};

const whoIs = ({ kind, name, permission }: Caller): Html => html`<form class="who" action="/ui/sign-out" method="post">
<span>${kinds[kind] ?? kind}${kind === 'bootstrap' ? undefined : html` <span class="actor">${name}</span>`}, may ${permission}</span>
<button type="submit">Sign out</button>
</form>`;
