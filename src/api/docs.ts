// The interface for people: one page without scripts and without other hosts, made from the route table.
import { hash } from 'node:crypto';
import { errorKinds } from '../core/errors.ts';
import { type Html, html } from '../html/html.ts';
import { operationHtml } from './docs-operation.ts';
import { style } from './docs-style.ts';
import { baseProblems, coreProblems, doorProblems } from './problems.ts';
import type { ApiRoute } from './route.ts';

/** Nothing may be loaded and nothing may run; the one style sheet is known by its hash. */
export const docsPolicy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export function docsPage(routes: readonly ApiRoute[], version: string): string {
  const tags = [...new Set(routes.map(({ tag }) => tag))];
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Acmery management interface</title>
${styleElement}
</head>
<body>
<main>
<h1>Acmery management interface</h1>
<p class="soft">Version ${version}. For programs: <a href="/v1/openapi.json">/v1/openapi.json</a></p>
<p>Send a token with each request: <code>Authorization: Bearer &lt;token&gt;</code>. Tokens are made by
<code>acmery token create --name NAME --permission read|write|admin</code>. Permissions nest: admin includes write includes read.</p>
<p>Lists page by <code>limit</code> and <code>after</code>, the id of the last item of the page before; the Link header
leads to the next page. Fields without a value are null. Read-only fields are ignored in requests, unknown fields refused.</p>
<p>In the examples <code>$ACMERY</code> is the address of this service and <code>ca.crt</code> its trust anchor.</p>
<nav aria-label="Contents"><ul>${[...tags, 'Errors'].map((tag) => html`<li><a href="#${anchorOf(tag)}">${tag}</a></li>`)}</ul></nav>
${tags.map((tag) => tagHtml(tag, routes))}
${errorsHtml()}
</main>
</body>
</html>
`.html;
}

const styleElement: Html = { html: `<style>${style}</style>` };

const tagHtml = (tag: string, routes: readonly ApiRoute[]): Html => html`
<h2 id="${anchorOf(tag)}">${tag}</h2>
${routes.filter((row) => row.tag === tag).map(operationHtml)}`;

const anchorOf = (tag: string): string => tag.toLowerCase().replaceAll(' ', '-');

/** The `type` of a problem document leads to the row of its code. */
const errorsHtml = (): Html => html`
<h2 id="errors">Errors</h2>
<p>Errors are problem documents (RFC 9457): <code>type</code>, <code>title</code>, <code>status</code>, <code>detail</code>,
<code>code</code>, <code>request_id</code> and <code>errors</code>, which names all fields at fault.</p>
<div class="scroll" tabindex="0"><table>${errorRows().map(
  ({ code, status, sentence }) =>
    html`<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${sentence}</td></tr>`,
)}</table></div>`;

type ErrorRow = { readonly code: string; readonly status: string; readonly sentence: string };

function errorRows(): readonly ErrorRow[] {
  const sentences: Readonly<Record<string, string>> = errorKinds;
  const core = Object.entries(coreProblems).map(([code, { status }]) => ({
    code,
    status: String(status),
    sentence: sentences[code] ?? '',
  }));
  const others = Object.entries({ ...baseProblems, ...doorProblems }).map(([code, { status, meaning }]) => ({
    code,
    status: String(status),
    sentence: meaning,
  }));
  const rows = new Map([...others, ...core].map((row) => [row.code, row]));
  return [...rows.values()].sort((a, b) => (a.code < b.code ? -1 : 1));
}
