// The directories: where they are, who may use them, and how much there is in them.
import { listShownDirectories, type ShownDirectory } from '../../core/directory-report.ts';
import { type Html, html } from '../../html/html.ts';
import type { Show } from '../page.ts';
import { toned } from '../parts/badges.ts';
import { countedLink } from '../parts/counts.ts';
import { few } from '../parts/fields.ts';
import { noDirectoryYet } from '../parts/first-steps.ts';
import { linkTo, listPath } from '../parts/links.ts';
import { choices, pageLinks } from '../parts/next-page.ts';
import { table } from '../parts/tables.ts';
import { choiceIn, placeIn } from '../query.ts';

const sorts = ['id', 'name'] as const;

export const showDirectories: Show = async ({ ca, query, path }) => {
  const { limit, after } = placeIn(query, 'directory');
  const sort = choiceIn(query, 'sort', sorts) ?? 'id';
  const direction = sort === 'id' ? 'desc' : 'asc';
  const page = await listShownDirectories(ca, { limit, direction, sort, ...(after !== undefined && { after }) });
  const place = { path, query };
  return {
    title: 'Directories',
    body: html`${choices(place, 'sort', 'Order', [
      { text: 'Newest first', value: undefined },
      { text: 'By name', value: 'name' },
    ])}
${directoriesTable(page.items)}
${pageLinks(place, 'directory', page)}`,
  };
};

export const directoriesTable = (directories: readonly ShownDirectory[]): Html =>
  table({
    caption: 'Directories; "24 h" counts orders of the last 24 hours',
    rows: directories,
    empty: noDirectoryYet,
    columns: [
      {
        head: 'Directory',
        cell: ({
          id,
          fields: { slug, name },
          directoryUrl,
        }) => html`${linkTo('directory', id, html`<strong>${slug}</strong>`)}
${name === slug ? undefined : html`<span class="name">${name}</span>`}
<span class="below"><code class="url">${directoryUrl}</code></span>`,
      },
      { head: 'Who may', cell: whoMay },
      {
        head: 'Names',
        cell: ({ fields }) => few([...fields.allowed_dns_identifiers, ...shownRanges(fields.allowed_ip_identifiers)]),
      },
      {
        head: 'Accounts',
        kind: 'number',
        cell: ({ id, counts }) => countedLink(counts.accounts, listPath('acme_key', { directory: id })),
      },
      {
        head: 'Live certs',
        kind: 'number',
        cell: ({ id, counts }) =>
          countedLink(counts.liveCerts, listPath('issued_cert', { directory: id }, { state: 'valid' })),
      },
      {
        head: 'Issued, 24 h',
        kind: 'number',
        cell: ({ id, counts }) =>
          countedLink(counts.issuedLately, listPath('order', { directory: id }, { state: 'valid' })),
      },
      {
        head: 'Failed, 24 h',
        kind: 'number',
        cell: ({ id, counts: { failedLately } }) =>
          html`<span class="${failedLately === 0 ? '' : 'alarm'}">${countedLink(failedLately, listPath('order', { directory: id }, { state: 'invalid' }))}</span>`,
      },
    ],
  });

/** How accounts come to be, and from where. */
export const whoMay = ({ fields: { registration_mode: mode, remote_ip_whitelist: addresses } }: ShownDirectory): Html =>
  html`${mode === 'open' ? toned('wait', 'open') : toned('good', 'preregister')}
<span class="below soft">${mode === 'open' ? 'anybody registers' : 'EAB token or known key'}${
    addresses.length === 0 ? undefined : html`, from ${few(addresses)}`
  }</span>`;

const EVERYWHERE = ['0.0.0.0/0', '::/0'];

/** Where every address is allowed, that is said in two words. */
const shownRanges = (ranges: readonly string[]): readonly string[] =>
  EVERYWHERE.every((range) => ranges.includes(range)) ? ['every address'] : ranges;
