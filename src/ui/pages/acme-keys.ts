// Account keys of a directory, and one of them.
import { type AcmeKeyView, getAcmeKey, listAcmeKeys } from '../../core/acme-keys.ts';
import { CaError } from '../../core/errors.ts';
import { listReportedOrders } from '../../core/order-report.ts';
import { namesOf } from '../../core/shown-names.ts';
import { type Html, html } from '../../html/html.ts';
import { acmeKeyLifecycle } from '../../lifecycles/acme-key.ts';
import { statesOf } from '../../lifecycles/lifecycle.ts';
import type { Show } from '../page.ts';
import { badge } from '../parts/badges.ts';
import { code, fields, folded, list } from '../parts/fields.ts';
import { idOf, linkTo, listPath } from '../parts/links.ts';
import { choices, pageLinks } from '../parts/next-page.ts';
import { scopeOf } from '../parts/scope.ts';
import { table } from '../parts/tables.ts';
import { none } from '../parts/times.ts';
import { choiceIn, idIn, placeIn } from '../query.ts';
import { namesAround, ordersTable } from './orders.ts';

const states = statesOf(acmeKeyLifecycle);
const FEW_ORDERS = 10;

export const showAcmeKeys: Show = async ({ ca, query, path }) => {
  const directoryId = idIn(query, 'directory');
  if (directoryId === undefined)
    throw new CaError('invalid', 'Account keys are listed by directory: choose one first.');
  const { limit, after } = placeIn(query, 'acme_key');
  const state = choiceIn(query, 'state', states);
  const page = await listAcmeKeys(
    ca,
    { directoryId, state },
    { limit, direction: 'desc', sort: 'id', ...(after !== undefined && { after }) },
  );
  const names = await namesOf(ca, { directories: [directoryId] });
  const place = { path, query };
  return {
    title: 'Account keys',
    body: html`${scopeOf({ directory: directoryId }, names, { path: '/ui/directories', query })}
${choices(place, 'state', 'State', [
  { text: 'All', value: undefined },
  ...states.map((value) => ({ text: value, value })),
])}
${accountsTable(page.items)}
${pageLinks(place, 'acme_key', page)}`,
  };
};

export const showAcmeKey: Show = async ({ ca, id, now }) => {
  const account = await getAcmeKey(ca, id);
  const [orders, names] = await Promise.all([
    listReportedOrders(ca, { acmeKeyId: id }, { limit: FEW_ORDERS, after: undefined }),
    namesOf(ca, { directories: [account.directoryId] }),
  ]);
  return {
    title: account.name === '' ? 'Account key' : `Account key ${account.name}`,
    body: html`${accountFields(account, names)}
<h2>Its orders</h2>
${ordersTable(orders, await namesAround(ca, orders.items), now, 'Orders of this account, the newest first')}
<p><a href="${listPath('order', { acme_key: id })}">All orders</a> · <a href="${listPath('issued_cert', { acme_key: id })}">Certificates</a></p>`,
  };
};

const accountsTable = (accounts: readonly AcmeKeyView[]): Html =>
  table({
    caption: 'Account keys, the newest first',
    rows: accounts,
    empty: html`<p>No account here yet. A client makes one with an EAB token of this directory.</p>`,
    columns: [
      {
        head: 'Account key',
        cell: ({ id, name }) =>
          linkTo('acme_key', id, name === '' ? undefined : html`<span class="name">${name}</span>`),
      },
      { head: 'State', cell: ({ state }) => badge(state) },
      { head: 'Orders are', cell: validations },
      { head: 'Contacts', cell: ({ contacts }) => list(contacts) ?? none },
      { head: 'Last used', cell: ({ usedOn }) => usedOn ?? 'never' },
    ],
  });

const validations = ({ orderValidations }: AcmeKeyView): string =>
  orderValidations === 'auto_approve' ? 'approved at once' : 'validated by challenge';

const accountFields = (account: AcmeKeyView, names: ReadonlyMap<string, string>): Html => html`${fields([
  ['State', badge(account.state)],
  ['Directory', linkTo('directory', account.directoryId, names.get(account.directoryId))],
  ['Orders are', validations(account)],
  ['Contacts', list(account.contacts)],
  ['Last used', account.usedOn ?? 'never'],
  ['Key thumbprint', code(account.thumbprint)],
  ['ACME account', code(account.kid)],
  ['Id', code(idOf('acme_key', account.id))],
])}
${folded('Public key (PEM)', account.publicKey)}`;
