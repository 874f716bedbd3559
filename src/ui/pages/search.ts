// What was found for a text; an id leads to its page at once.
import { type Found, search } from '../../core/search.ts';
import { namesOf } from '../../core/shown-names.ts';
import { type Html, html } from '../../html/html.ts';
import type { Show } from '../page.ts';
import { linkTo, pathOf } from '../parts/links.ts';
import { pageLinks } from '../parts/next-page.ts';
import { placeIn } from '../query.ts';
import { certNames, certsTable } from './issued-certs.ts';

const LONGEST = 300;

export const showSearch: Show = async ({ ca, query, path, now }) => {
  const text = (query.get('q') ?? '').trim().slice(0, LONGEST);
  const title = text === '' ? 'Search' : `Found for ${text}`;
  if (text === '') return { title, body: what };
  const found = await search(ca, text, placeIn(query, 'issued_cert'));
  if (found.object !== undefined) return { location: pathOf(found.object.kind, found.object.id) };
  const { certs, directoryId, acmeKeyId } = found;
  const [names, around] = await Promise.all([
    certNames(ca, certs.items),
    namesOf(ca, {
      directories: directoryId === undefined ? [] : [directoryId],
      acmeKeys: acmeKeyId === undefined ? [] : [acmeKeyId],
    }),
  ]);
  return {
    title,
    searched: text,
    body: html`${direct(found, around)}
${
  certs.items.length > 0
    ? certsTable(certs.items, names, now, 'Certificates, the newest first')
    : directoryId === undefined && acmeKeyId === undefined
      ? html`<div class="empty">${nothing(found)}</div>`
      : undefined
}
${pageLinks({ path, query }, 'issued_cert', certs)}`,
  };
};

const direct = ({ directoryId, acmeKeyId }: Found, names: ReadonlyMap<string, string>): Html | undefined =>
  directoryId === undefined && acmeKeyId === undefined
    ? undefined
    : html`<ul class="found">
${directoryId === undefined ? undefined : html`<li>Directory ${linkTo('directory', directoryId, names.get(directoryId))}</li>`}
${acmeKeyId === undefined ? undefined : html`<li>Account key ${linkTo('acme_key', acmeKeyId, names.get(acmeKeyId))}, which has or had the key of this thumbprint</li>`}
</ul>`;

const meanings: Readonly<Record<Found['readAs'][number], string>> = {
  serial: 'a serial number',
  thumbprint: 'the thumbprint of a key',
  slug: 'the slug of a directory',
  subject: 'a name or address of a certificate',
};

const nothing = ({ readAs }: Found): Html =>
  readAs.length === 0
    ? html`<p>This can be none of what is looked for.</p>${what}`
    : html`<p>Nothing has it as ${readAs.map((kind) => meanings[kind]).join(', or as ')}.</p>${what}`;

const what: Html = html`<p>What can be looked for, each whole and exactly:</p>
<ul>
<li>a DNS name or IP address of a certificate: <code>shop.corp.example</code>, <code>*.corp.example</code>, <code>10.0.0.5</code></li>
<li>its serial number in hex, with or without colons</li>
<li>the thumbprint of an account's or certificate's key (RFC 7638, base64url)</li>
<li>the slug of a directory, former ones too</li>
<li>an id: <code>scrt_</code>, <code>dir_</code>, <code>acmk_</code>, <code>ordr_</code>, <code>icrt_</code></li>
</ul>`;
