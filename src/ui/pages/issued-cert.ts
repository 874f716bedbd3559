// One issued cert: what it says, where it came from, and its text to copy.
import { X509Certificate } from 'node:crypto';
import { type CertReport, getCertReport } from '../../core/cert-report.ts';
import { namesOf } from '../../core/shown-names.ts';
import { type Html, html } from '../../html/html.ts';
import type { Show } from '../page.ts';
import { code, type FieldRow, fields, folded, list } from '../parts/fields.ts';
import { ending } from '../parts/life.ts';
import { idOf, linkTo, listPath } from '../parts/links.ts';
import { when } from '../parts/times.ts';
import { spanOf, standing, toneOf } from './issued-certs.ts';

export const showIssuedCert: Show = async ({ ca, id, now }) => {
  const cert = await getCertReport(ca, id);
  const names = await namesOf(ca, { directories: [cert.directoryId], acmeKeys: [cert.acmeKeyId] });
  const [first = 'nobody'] = cert.subjects;
  return { title: `Certificate for ${first}`, body: issuedCertPage(cert, names, now) };
};

const issuedCertPage = (cert: CertReport, names: ReadonlyMap<string, string>, now: Date): Html => html`
${fields(rowsOf(cert, names, now))}
<h2>To copy</h2>
${folded('Certificate (PEM)', cert.publicCert)}
${folded('With its chain (PEM), as servers send it', [cert.publicCert, ...cert.certChain].join(''))}
<p><a href="${listPath('issued_cert', { acme_key: cert.acmeKeyId })}">Certificates of this account</a> ·
<a href="/ui/search?${new URLSearchParams({ q: cert.subjects[0] ?? '' }).toString()}">Certificates for this name</a></p>`;

function rowsOf(cert: CertReport, names: ReadonlyMap<string, string>, now: Date): readonly FieldRow[] {
  const parsed = new X509Certificate(cert.publicCert);
  return [
    ['State', standing(cert, now)],
    ['For', list(cert.subjects)],
    ['Ends', ending(spanOf(cert), now, toneOf(cert, now))],
    ['Began', when(cert.notBefore, now)],
    ...revocationRows(cert, now),
    ['Renewed by', cert.replacedBy === undefined ? undefined : linkTo('order', cert.replacedBy)],
    ['Serial number', code(cert.serial)],
    ['Issuer', parsed.issuer.replaceAll('\n', ', ')],
    ['Issuer id', code(idOf('signing_cert', cert.signingCertId))],
    ['Directory', linkTo('directory', cert.directoryId, names.get(cert.directoryId))],
    ['Account key', linkTo('acme_key', cert.acmeKeyId, names.get(cert.acmeKeyId))],
    ['Order', linkTo('order', cert.orderId)],
    ['Key', keyOf(parsed)],
    ['SHA-256 fingerprint', code(parsed.fingerprint256)],
    ['Key thumbprint', code(cert.thumbprint)],
    ['Id', code(idOf('issued_cert', cert.id))],
  ];
}

const revocationRows = ({ revokedAt, revokeReason }: CertReport, now: Date): readonly FieldRow[] =>
  revokedAt === undefined
    ? []
    : [
        ['Revoked', when(revokedAt, now)],
        ['Reason', code(revokeReason)],
      ];

export function keyOf({ publicKey }: X509Certificate): string {
  const { namedCurve, modulusLength } = publicKey.asymmetricKeyDetails ?? {};
  const size = namedCurve ?? (modulusLength === undefined ? undefined : `${modulusLength} bits`);
  return [publicKey.asymmetricKeyType, size].filter((part) => part !== undefined).join(', ');
}
