// One order: what was asked for, what came of each name, and why it failed.
import {
  getOrderReport,
  type OrderReport,
  type ShownAuthorization,
  type ShownChallenge,
} from '../../core/order-report.ts';
import { namesOf } from '../../core/shown-names.ts';
import { type Html, html } from '../../html/html.ts';
import type { Show } from '../page.ts';
import { badge, toned } from '../parts/badges.ts';
import { code, type FieldRow, fields, list } from '../parts/fields.ts';
import { idOf, linkTo } from '../parts/links.ts';
import { problem } from '../parts/problems.ts';
import { when } from '../parts/times.ts';
import { identifiersOf, LAPSED } from './orders.ts';

export const showOrder: Show = async ({ ca, id, now }) => {
  const order = await getOrderReport(ca, id);
  const names = await namesOf(ca, { directories: [order.directoryId], acmeKeys: [order.acmeKeyId] });
  const [first = 'nothing'] = identifiersOf(order);
  return { title: `Order for ${first}`, body: orderPage(order, names, now) };
};

const orderPage = (order: OrderReport, names: ReadonlyMap<string, string>, now: Date): Html => html`
${failure(order)}
${fields(rowsOf(order, names, now))}
<h2>Names and their validation</h2>
${order.authorizations.length === 0 ? html`<p class="empty">The authorizations of this order are no longer kept.</p>` : undefined}
${order.authorizations.map((authorization) => authorizationBlock(authorization, now))}`;

function failure({ state, error }: OrderReport): Html | undefined {
  if (state !== 'invalid') return undefined;
  return html`<section class="notice bad" aria-labelledby="why"><h2 id="why">Why it failed</h2>
${error === undefined ? html`<p>${LAPSED}</p>` : problem(error)}</section>`;
}

const rowsOf = (order: OrderReport, names: ReadonlyMap<string, string>, now: Date): readonly FieldRow[] => [
  ['State', badge(order.state)],
  ['Names', list(order.dnsIdentifiers)],
  ['Addresses', list(order.ipIdentifiers)],
  ['Certificate', order.issuedCert && linkTo('issued_cert', order.issuedCert.id)],
  ['Directory', linkTo('directory', order.directoryId, names.get(order.directoryId))],
  ['Account key', linkTo('acme_key', order.acmeKeyId, names.get(order.acmeKeyId))],
  ['Made', when(order.createdAt, now)],
  ['Open until', isOpen(order) ? when(order.expiresAt, now) : undefined],
  ['Asked to begin', order.notBefore && when(order.notBefore, now)],
  ['Asked to end', order.notAfter && when(order.notAfter, now)],
  ['Id', code(idOf('order', order.id))],
];

const isOpen = ({ state }: OrderReport): boolean => state === 'pending' || state === 'ready';

const authorizationBlock = (authorization: ShownAuthorization, now: Date): Html => html`<article class="card">
<h3><span class="name">${authorization.name}</span> ${badge(authorization.state)}</h3>
${
  authorization.isAutoApproved
    ? html`<p>${toned('good', 'approved')} for this account, without a challenge.</p>`
    : html`<ul class="plain challenges">${authorization.challenges.map((challenge) => challengeItem(challenge, now))}</ul>`
}
</article>`;

const challengeItem = (challenge: ShownChallenge, now: Date): Html => {
  const { type, state, attempts, validatedAt, error, failures } = challenge;
  return html`<li><p><code>${type}</code> ${badge(state)}
${attempts === 0 ? html`<span class="soft">not tried</span>` : html`<span class="soft">${attempts} ${attempts === 1 ? 'try' : 'tries'}</span>`}
${validatedAt && when(validatedAt, now)}</p>
${error && problem(error)}
${failures.map(problem)}</li>`;
};
