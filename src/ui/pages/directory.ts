// One directory: its rules, its generations of CA certs, and what happens in it.
import { mayDo } from '../../core/caller.ts';
import { listReportedCerts } from '../../core/cert-report.ts';
import { type DirectoryReport, getDirectoryReport } from '../../core/directory-report.ts';
import { listReportedOrders } from '../../core/order-report.ts';
import { namesOf } from '../../core/shown-names.ts';
import { type Html, html } from '../../html/html.ts';
import type { Show } from '../page.ts';
import { toned } from '../parts/badges.ts';
import { countedLink } from '../parts/counts.ts';
import { code, type FieldRow, fields, list, words } from '../parts/fields.ts';
import { idOf, linkTo, listPath } from '../parts/links.ts';
import { none, when } from '../parts/times.ts';
import { whoMay } from './directories.ts';
import { certNames, certsTable } from './issued-certs.ts';
import { namesAround, ordersTable } from './orders.ts';

const FEW = { limit: 5, after: undefined };

export const showDirectory: Show = async ({ ca, caller, id, now }) => {
  const directory = await getDirectoryReport(ca, id);
  const isAdmin = mayDo(caller, 'admin');
  const [failed, ending, issuers] = await Promise.all([
    listReportedOrders(ca, { directoryId: id, state: 'invalid' }, FEW),
    listReportedCerts(ca, { directoryId: id, state: 'valid' }, FEW),
    // What CA certs are called is told to those who may list them.
    isAdmin ? namesOf(ca, { signingCerts: [directory.fields.signing_cert_id, ...directory.formerIssuers] }) : new Map(),
  ]);
  const [orderNames, namesOfCerts] = await Promise.all([namesAround(ca, failed.items), certNames(ca, ending.items)]);
  return {
    title: `Directory ${directory.fields.slug}`,
    body: html`${countsOf(directory)}
${fields(rowsOf(directory, issuerRows(directory, isAdmin ? issuers : undefined, now), now))}
<h2>Failed last</h2>
${failed.items.length === 0 ? html`<p class="empty">No order has failed here, or none is kept any more.</p>` : ordersTable(failed, orderNames, now, 'Orders that failed, the newest first')}
<p><a href="${listPath('order', { directory: id })}">All orders of this directory</a></p>
<h2>Ending next</h2>
${certsTable(ending.items, namesOfCerts, now, 'Valid certificates, those that end first')}
<p><a href="${listPath('issued_cert', { directory: id })}">All certificates of this directory</a></p>`,
  };
};

const countsOf = ({ id, counts }: DirectoryReport): Html => html`<ul class="counts">
<li><b>${countedLink(counts.accounts, listPath('acme_key', { directory: id }, { state: 'valid' }))}</b> accounts</li>
<li><b>${countedLink(counts.unusedTokens, '/v1/docs#listExternalBindings')}</b> unused EAB tokens</li>
<li><b>${countedLink(counts.openOrders, listPath('order', { directory: id }, { state: 'pending' }))}</b> open orders</li>
<li><b>${countedLink(counts.issuedLately, listPath('order', { directory: id }, { state: 'valid' }))}</b> issued in 24 h</li>
<li class="${counts.failedLately > 0 ? 'alarm' : ''}"><b>${countedLink(counts.failedLately, listPath('order', { directory: id }, { state: 'invalid' }))}</b> failed in 24 h</li>
<li><b>${countedLink(counts.liveCerts, listPath('issued_cert', { directory: id }, { state: 'valid' }))}</b> live certificates</li>
</ul>`;

function rowsOf(directory: DirectoryReport, issuers: readonly FieldRow[], now: Date): readonly FieldRow[] {
  const { fields: rules } = directory;
  return [
    ['ACME directory URL', code(directory.directoryUrl)],
    ['Name', rules.name],
    ['Who may', whoMay(directory)],
    ['From addresses', rules.remote_ip_whitelist.length === 0 ? 'any' : list(rules.remote_ip_whitelist)],
    ...issuers,
    ['Allowed names', list(rules.allowed_dns_identifiers) ?? none],
    ['Allowed addresses', list(rules.allowed_ip_identifiers) ?? none],
    ['Days of certificates', `${rules.cert_min_days} to ${rules.cert_max_days}`],
    [
      'CAA',
      html`issuer <code>${rules.caa_tag}</code>, without a record ${rules.on_missing_caa === 'pass' ? toned('off', 'pass') : toned('wait', 'fail')}`,
    ],
    ['Profiles', words(rules.profiles)],
    ['Key types of leaves', words(rules.allowed_key_types)],
    ['Terms of service', rules.terms_of_service ?? undefined],
    ['Website', rules.website ?? undefined],
    ['Former slugs', list(directory.aliases)],
    ['Declared by', code(directory.declaredBy)],
    ['Made', when(directory.createdAt, now)],
    ['Id', code(idOf('directory', directory.id))],
  ];
}

/** The one that signs now, and those before it, which stay published until their last leaf ends. */
function issuerRows(
  { fields: { signing_cert_id: current, rollover_days: days }, formerIssuers, rolloverAt }: DirectoryReport,
  names: ReadonlyMap<string, string> | undefined,
  now: Date,
): readonly FieldRow[] {
  const shown = (id: string): Html =>
    names === undefined ? html`<code>${idOf('signing_cert', id)}</code>` : linkTo('signing_cert', id, names.get(id));
  return [
    ['Signed by', shown(current)],
    ...(formerIssuers.length === 0
      ? []
      : [
          [
            'Signed before by',
            html`<ul class="values">${formerIssuers.map((id) => html`<li>${shown(id)}</li>`)}</ul>`,
          ] as const,
          ['Rollover', html`${when(rolloverAt, now)}, renewals spread over ${days} days`] as const,
        ]),
  ];
}
