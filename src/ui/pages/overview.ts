// The first page: what needs attention, the CA certs, the directories, what failed last, and what ends next.
import { type CaTree, getCaTree } from '../../core/ca-tree.ts';
import { mayDo } from '../../core/caller.ts';
import { listEndingCerts } from '../../core/cert-report.ts';
import { listShownDirectories, type ShownDirectory } from '../../core/directory-report.ts';
import { listReportedOrders } from '../../core/order-report.ts';
import { type Html, html } from '../../html/html.ts';
import type { Show } from '../page.ts';
import { toned } from '../parts/badges.ts';
import { counted } from '../parts/counts.ts';
import { caTone } from '../parts/life.ts';
import { linkTo, listPath } from '../parts/links.ts';
import { relative } from '../parts/times.ts';
import { caTreeTable, crlVerdict } from './ca-tree.ts';
import { directoriesTable } from './directories.ts';
import { certNames, certsTable } from './issued-certs.ts';
import { namesAround, ordersTable } from './orders.ts';

const FEW = { limit: 5, after: undefined };
const SHOWN_DIRECTORIES = 10;

export const showOverview: Show = async ({ ca, caller, now }) => {
  const [tree, directories, failed, ending] = await Promise.all([
    mayDo(caller, 'admin') ? getCaTree(ca) : undefined,
    listShownDirectories(ca, { limit: SHOWN_DIRECTORIES, direction: 'desc', sort: 'id' }),
    listReportedOrders(ca, { state: 'invalid' }, FEW),
    listEndingCerts(ca, FEW),
  ]);
  const [orderNames, namesOfCerts] = await Promise.all([namesAround(ca, failed.items), certNames(ca, ending.items)]);
  const hasDirectory = directories.items.length > 0;
  return {
    title: 'Overview',
    body: html`${hasDirectory || tree?.nodes.length ? attention(worriesOf(directories.items, tree, now), tree !== undefined) : undefined}
${tree && html`<h2>CA certs</h2>${caTreeTable(tree, now)}`}
<h2>Directories</h2>
${directoriesTable(directories.items)}
${directories.hasMore ? html`<p><a href="/ui/directories">All directories</a></p>` : undefined}
${
  hasDirectory
    ? html`<h2>Failed last</h2>
${failed.items.length === 0 ? html`<p class="empty">No order has failed, or none is kept any more.</p>` : ordersTable(failed, orderNames, now, 'Orders that failed, the newest first')}
<p><a href="/ui/orders?state=invalid">All that failed</a> · <a href="/ui/orders">All orders</a></p>
<h2>Ending next</h2>
${certsTable(ending.items, namesOfCerts, now, 'Valid certificates, those that end first')}
<p><a href="/ui/issued_certs">More</a></p>`
    : undefined
}`,
  };
};

const worriesOf = (directories: readonly ShownDirectory[], tree: CaTree | undefined, now: Date): readonly Html[] => [
  ...(tree === undefined ? [] : caWorries(tree, now)),
  ...directories.flatMap(directoryWorries),
];

/** Who does not see the CA certs is not told that they are well. */
const attention = (worries: readonly Html[], seesAll: boolean): Html =>
  worries.length === 0
    ? html`<p class="notice good">${toned('good', 'calm')} ${seesAll ? 'Nothing' : 'Nothing that you may see'} needs attention now.</p>`
    : html`<section class="notice wait" aria-labelledby="attention"><h2 id="attention">Needs attention</h2>
<ul>${worries.map((worry) => html`<li>${worry}</li>`)}</ul></section>`;

const caWorries = ({ nodes }: CaTree, now: Date): readonly Html[] =>
  nodes.flatMap((node) => {
    const name = linkTo('signing_cert', node.id, html`<span class="name">${node.name}</span>`);
    const issuesNow = node.uses.some(({ use }) => use === 'current');
    const crl = crlVerdict(node, now);
    const isNear = node.state === 'valid' && caTone(node, now) !== 'good';
    return [
      ...(node.state === 'waiting'
        ? [html`${name} waits for its certificate: its CSR is to be signed elsewhere.`]
        : []),
      ...(isNear && node.notAfter !== undefined
        ? [html`${name} ends ${relative(node.notAfter, now)}: make its successor, and roll over to it.`]
        : []),
      ...((node.state === 'expired' || node.state === 'revoked') && issuesNow
        ? [html`${name} is ${node.state}, and directories still issue from it: give them another one.`]
        : []),
      ...(node.state === 'valid' && crl !== undefined && crl.tone !== 'good'
        ? [html`The CRL of ${name} is ${crl.text}.`]
        : []),
    ];
  });

function directoryWorries({
  id,
  fields: { slug },
  counts: { failedLately, issuedLately },
}: ShownDirectory): readonly Html[] {
  if (failedLately === 0) return [];
  const link = html`<a href="${listPath('order', { directory: id }, { state: 'invalid' })}">${counted(failedLately)} ${failedLately === 1 ? 'order' : 'orders'} failed</a>`;
  return [html`${link} in ${linkTo('directory', id, slug)} within 24 hours, and ${counted(issuedLately)} went well.`];
}
