// One CA cert: what it may sign, what hangs on it, its CRL, and where relying parties find it.
import { X509Certificate } from 'node:crypto';
import type { Ca } from '../../core/ca.ts';
import { countLeavesOf, getShownCa, type ShownCa } from '../../core/ca-tree.ts';
import { type DirectoryView, listDirectories } from '../../core/directories.ts';
import { MOST_COUNTED } from '../../core/directory-report.ts';
import { namesOf } from '../../core/shown-names.ts';
import { getSigningCert, listSigningCerts, type SigningCertView } from '../../core/signing-certs.ts';
import { caCertificateUrl, crlUrl, ocspUrl } from '../../core/urls.ts';
import { type Html, html } from '../../html/html.ts';
import type { Show } from '../page.ts';
import { badge, toned } from '../parts/badges.ts';
import { countedLink } from '../parts/counts.ts';
import { code, type FieldRow, fields, folded, list } from '../parts/fields.ts';
import { ending } from '../parts/life.ts';
import { idOf, linkTo, listPath } from '../parts/links.ts';
import { table } from '../parts/tables.ts';
import { when } from '../parts/times.ts';
import { crlVerdict, toneOf } from './ca-tree.ts';
import { keyOf } from './issued-cert.ts';

const FIRST = { limit: 50, direction: 'desc', sort: 'id' } as const;

export const showCaCert: Show = async ({ ca, id, now }) => {
  const [view, shown, children, directories, leaves] = await Promise.all([
    getSigningCert(ca, id),
    getShownCa(ca, id),
    listSigningCerts(ca, { parentId: id }, FIRST),
    listDirectories(ca, { signingCertId: id }, FIRST),
    countLeavesOf(ca, id, MOST_COUNTED),
  ]);
  const names = shown.parentId === undefined ? new Map() : await namesOf(ca, { signingCerts: [shown.parentId] });
  const leavesLink = countedLink(leaves, listPath('issued_cert', { signing_cert: id }, { state: 'valid' }));
  return {
    title: `CA cert ${view.name}`,
    body: html`${fields([
      ...rowsOf({ ...view, ...shown }, names, now),
      ['Live leaves', leavesLink],
      ['In use', view.inUse ? 'yes' : 'no'],
    ])}
<h2>Revocation</h2>
${fields(revocationRows(ca, shown, now))}
<h2>Below it</h2>
${childrenTable(children.items, directories.items)}
${view.publicCert === undefined ? undefined : html`<h2>To copy</h2>${folded('Certificate (PEM)', view.publicCert)}`}`,
  };
};

type Whole = SigningCertView & ShownCa;

function rowsOf(cert: Whole, names: ReadonlyMap<string, string>, now: Date): readonly FieldRow[] {
  const { parentId, publicCert } = cert;
  const parsed = publicCert === undefined ? undefined : new X509Certificate(publicCert);
  return [
    ['State', badge(cert.state)],
    ['Ends', ending(cert, now, toneOf(cert, now))],
    ['Began', cert.notBefore && when(cert.notBefore, now)],
    ['Type', cert.certType],
    ['Signed by', parentOf(cert, parentId && linkTo('signing_cert', parentId, names.get(parentId)))],
    [
      'Subject',
      Object.entries(cert.subject)
        .map(([name, value]) => `${name}=${value}`)
        .join(', '),
    ],
    [
      'Key',
      html`${parsed === undefined ? cert.keyType : keyOf(parsed)} <span class="soft">${cert.keyAvailability}</span>`,
    ],
    ['CA certs below it, in depth', cert.pathLength ?? 'any number'],
    ...constraintRows(cert),
    ['Revoked', cert.revokedAt && when(cert.revokedAt, now)],
    ['Reason', code(cert.revokeReason)],
    ['Serial number', code(parsed?.serialNumber.toLowerCase())],
    ['SHA-256 fingerprint', code(parsed?.fingerprint256)],
    ['Declared by', code(cert.declaredBy)],
    ['Id', code(idOf('signing_cert', cert.id))],
  ];
}

function parentOf({ certType }: Whole, link: Html | string | undefined): Html | string {
  if (certType === 'root') return 'itself';
  return link ?? 'a CA elsewhere';
}

const constraintNames = {
  permitted_dns: 'Only names below',
  excluded_dns: 'No names below',
  permitted_ip: 'Only addresses in',
  excluded_ip: 'No addresses in',
} as const;

const constraintRows = ({ nameConstraints = {} }: Whole): readonly FieldRow[] =>
  (['permitted_dns', 'excluded_dns', 'permitted_ip', 'excluded_ip'] as const).flatMap((kind) => {
    const values = nameConstraints[kind];
    return values === undefined ? [] : [[constraintNames[kind], list(values)] as const];
  });

function revocationRows({ urls }: Ca, shown: ShownCa, now: Date): readonly FieldRow[] {
  const { id, crl } = shown;
  const verdict = crlVerdict(shown, now);
  return [
    ['CRL', verdict && toned(verdict.tone, verdict.text)],
    ['Made', crl && when(crl.thisUpdate, now)],
    ['Good until', crl && when(crl.nextUpdate, now)],
    ['Number', crl && html`<code>${crl.number}</code>${crl.isUploaded ? ' (uploaded)' : ''}`],
    ['CRL at', code(crlUrl(urls, id))],
    ['OCSP at', code(ocspUrl(urls, id))],
    ['Certificate at', code(caCertificateUrl(urls, id))],
  ];
}

type Below = { readonly kind: 'signing_cert' | 'directory'; readonly id: string; readonly name: string };

const childrenTable = (children: readonly SigningCertView[], directories: readonly DirectoryView[]): Html =>
  table<Below>({
    caption: 'CA certs and directories right below this one, 50 of each at most',
    rows: [
      ...children.map(({ id, name }) => ({ kind: 'signing_cert' as const, id, name })),
      ...directories.map(({ id, fields: { slug } }) => ({ kind: 'directory' as const, id, name: slug })),
    ],
    empty: html`<p>Neither a CA cert nor a directory is below this one.</p>`,
    columns: [
      {
        head: 'Name',
        cell: ({ kind, id, name }) =>
          linkTo(kind, id, name === '' ? undefined : html`<span class="name">${name}</span>`),
      },
      { head: 'Kind', cell: ({ kind }) => (kind === 'directory' ? 'directory' : 'CA cert') },
    ],
  });
