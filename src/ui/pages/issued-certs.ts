// Issued certs: those that end first, or of one state.
import type { Ca } from '../../core/ca.ts';
import { type ListedCert, listEndingCerts, listReportedCerts, MOST_CAS_ASKED } from '../../core/cert-report.ts';
import { namesOf } from '../../core/shown-names.ts';
import { type Html, html } from '../../html/html.ts';
import { issuedCertStates } from '../../resources/record-fields.ts';
import type { Show } from '../page.ts';
import { badge } from '../parts/badges.ts';
import { few } from '../parts/fields.ts';
import { noCertYet } from '../parts/first-steps.ts';
import { ending, leafTone, type Tone } from '../parts/life.ts';
import { linkTo } from '../parts/links.ts';
import { choices, pageLinks } from '../parts/next-page.ts';
import { scopeOf } from '../parts/scope.ts';
import { table } from '../parts/tables.ts';
import { choiceIn, idIn, placeIn } from '../query.ts';

export const showIssuedCerts: Show = async ({ ca, query, path, now }) => {
  const ids = {
    directory: idIn(query, 'directory'),
    acme_key: idIn(query, 'acme_key'),
    signing_cert: idIn(query, 'signing_cert'),
  };
  const isOfAll = Object.values(ids).every((id) => id === undefined);
  const at = placeIn(query, 'issued_cert');
  const state = choiceIn(query, 'state', issuedCertStates);
  const filter = { directoryId: ids.directory, acmeKeyId: ids.acme_key, signingCertId: ids.signing_cert, state };
  // Of all certificates there is no index by state: the CA certs have those that are valid, by their ends.
  const page = isOfAll ? await listEndingCerts(ca, at) : await listReportedCerts(ca, filter, at);
  const names = await certNames(ca, page.items, ids);
  const place = { path, query };
  return {
    title: isOfAll ? 'Certificates that end next' : 'Certificates',
    body: html`${scopeOf(ids, names, place)}
${
  isOfAll
    ? undefined
    : choices(place, 'state', 'State', [
        { text: 'All', value: undefined },
        ...issuedCertStates.map((value) => ({ text: value, value })),
      ])
}
${certsTable(page.items, names, now, captionOf(isOfAll ? 'valid' : state))}
${
  isOfAll
    ? html`<p class="soft">Valid ones of the newest ${MOST_CAS_ASKED} intermediates. Those of one <a href="/ui/directories">directory</a> can be listed by state; the search finds any by its name.</p>`
    : undefined
}
${pageLinks(place, 'issued_cert', page)}`,
  };
};

const captionOf = (state: 'valid' | 'expired' | 'revoked' | undefined): string =>
  state === 'valid' ? 'Valid certificates, those that end first' : 'Certificates, the newest first';

type Ids = { readonly directory?: string | undefined; readonly acme_key?: string | undefined };

export const certNames = (
  ca: Ca,
  certs: readonly ListedCert[],
  { directory, acme_key }: Ids = {},
): Promise<ReadonlyMap<string, string>> =>
  namesOf(ca, {
    directories: [...certs.map(({ directoryId }) => directoryId), ...(directory === undefined ? [] : [directory])],
    acmeKeys: acme_key === undefined ? [] : [acme_key],
  });

export const certsTable = (
  certs: readonly ListedCert[],
  names: ReadonlyMap<string, string>,
  now: Date,
  caption: string,
): Html =>
  table({
    caption,
    rows: certs,
    empty: noCertYet,
    columns: [
      { head: 'For', cell: ({ id, subjects }) => linkTo('issued_cert', id, few(subjects)) },
      { head: 'State', cell: (cert) => standing(cert, now) },
      { head: 'Ends', cell: (cert) => ending(spanOf(cert), now, toneOf(cert, now)) },
      { head: 'Directory', cell: ({ directoryId }) => linkTo('directory', directoryId, names.get(directoryId)) },
      { head: 'Serial number', cell: ({ serial }) => html`<code class="serial">${serial}</code>` },
    ],
  });

export const spanOf = ({ notBefore, expiresAt }: ListedCert) => ({ notBefore, notAfter: expiresAt });

/** What has a successor, or is at its end, worries nobody. */
export function toneOf(cert: ListedCert, now: Date): Tone {
  return cert.state !== 'valid' || cert.replacedBy !== undefined ? 'off' : leafTone(spanOf(cert), now);
}

/** The state, and of a valid one whether its client is late. */
export function standing(cert: ListedCert, now: Date): Html {
  const own = badge(cert.state);
  if (cert.state !== 'valid') return own;
  if (cert.replacedBy !== undefined) return html`${own} ${badge('renewed')}`;
  const tone = leafTone(spanOf(cert), now);
  if (tone === 'good') return own;
  return html`${own} ${badge(tone === 'wait' ? 'renewal due' : 'renewal late')}`;
}
