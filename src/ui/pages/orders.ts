// Orders, the newest first, those that failed with the reason.
import type { Ca } from '../../core/ca.ts';
import {
  type ListedOrder,
  listReportedOrders,
  MOST_DIRECTORIES_ASKED,
  type OrderReport,
} from '../../core/order-report.ts';
import type { Page } from '../../core/paging.ts';
import { namesOf } from '../../core/shown-names.ts';
import { type Html, html } from '../../html/html.ts';
import { orderStates } from '../../resources/record-fields.ts';
import type { Show } from '../page.ts';
import { badge } from '../parts/badges.ts';
import { few } from '../parts/fields.ts';
import { noOrderYet } from '../parts/first-steps.ts';
import { linkTo } from '../parts/links.ts';
import { choices, pageLinks } from '../parts/next-page.ts';
import { reason } from '../parts/problems.ts';
import { scopeOf } from '../parts/scope.ts';
import { table } from '../parts/tables.ts';
import { when } from '../parts/times.ts';
import { choiceIn, idIn, placeIn } from '../query.ts';

export const showOrders: Show = async ({ ca, query, path, now }) => {
  const filter = {
    directoryId: idIn(query, 'directory'),
    acmeKeyId: idIn(query, 'acme_key'),
    state: choiceIn(query, 'state', orderStates),
  };
  const page = await listReportedOrders(ca, filter, placeIn(query, 'order'));
  const names = await namesAround(ca, page.items, filter);
  const place = { path, query };
  const isAcross = filter.state !== undefined && filter.directoryId === undefined && filter.acmeKeyId === undefined;
  return {
    title: 'Orders',
    body: html`${scopeOf({ directory: filter.directoryId, acme_key: filter.acmeKeyId }, names, place)}
${choices(place, 'state', 'State', [
  { text: 'All', value: undefined },
  ...orderStates.map((state) => ({ text: state, value: state })),
])}
${ordersTable(page, names, now)}
${isAcross ? html`<p class="soft">Of the newest ${MOST_DIRECTORIES_ASKED} directories.</p>` : undefined}
${pageLinks(place, 'order', page)}`,
  };
};

type Around = { readonly directoryId?: string | undefined; readonly acmeKeyId?: string | undefined };

export const namesAround = (
  ca: Ca,
  orders: readonly ListedOrder[],
  { directoryId, acmeKeyId }: Around = {},
): Promise<ReadonlyMap<string, string>> =>
  namesOf(ca, {
    directories: [...orders.map((order) => order.directoryId), ...(directoryId === undefined ? [] : [directoryId])],
    acmeKeys: acmeKeyId === undefined ? [] : [acmeKeyId],
  });

export const ordersTable = (
  { items }: Pick<Page<ListedOrder>, 'items'>,
  names: ReadonlyMap<string, string>,
  now: Date,
  caption = 'Orders, the newest first',
): Html =>
  table({
    caption,
    rows: items,
    empty: noOrderYet,
    columns: [
      { head: 'For', cell: (order) => linkTo('order', order.id, few(identifiersOf(order))) },
      { head: 'State', cell: ({ state }) => badge(state) },
      {
        head: 'Directory',
        cell: ({ directoryId }) => linkTo('directory', directoryId, names.get(directoryId)),
      },
      { head: 'Made', cell: ({ createdAt }) => when(createdAt, now) },
      { head: 'Why it failed', cell: ({ error, state }) => whyOf(error, state) },
    ],
  });

export const identifiersOf = ({ dnsIdentifiers, ipIdentifiers }: ListedOrder | OrderReport): readonly string[] => [
  ...dnsIdentifiers,
  ...ipIdentifiers,
];

export const LAPSED = 'It was not finalized before it expired.';

function whyOf(error: ListedOrder['error'], state: ListedOrder['state']): Html {
  if (error !== undefined) return html`<div class="reason">${reason(error)}</div>`;
  // Its sweep has not come by yet.
  return state === 'invalid' ? html`<div class="reason">${LAPSED}</div>` : html``;
}
