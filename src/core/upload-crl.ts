// The CRL of an offline CA: made elsewhere, checked and published here.
import { formatSeconds } from '../schema/timestamp.ts';
import { storeUploadedCrl } from '../store/crls.ts';
import { lockSigningCert } from '../store/signing-certs.ts';
import { type Certificate, isSignedBy, parseCertificate } from '../x509/certificate.ts';
import { type Crl, readCrlPem } from '../x509/crl-reader.ts';
import { nameText } from '../x509/name.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import { subjectKeyIdentifierOf } from './ca-certificate.ts';
import { requireChangeableBy } from './declared.ts';
import { CaError } from './errors.ts';
import { FieldProblems } from './field-problems.ts';
import { formatId } from './ids.ts';
import { changedMeanwhile } from './object-kinds.ts';
import type { Author } from './origin.ts';
import { findPublishedCrl, type PublishedCrl } from './published-crls.ts';
import { getSigningCert, requireSigningCert, type SingleSigningCertView } from './signing-certs.ts';

type Expected = {
  readonly issuer: Certificate;
  readonly now: Date;
  /** What is published now. */
  readonly last: PublishedCrl | undefined;
};

type Refused = { readonly code: string; readonly message: string };
type Check = (crl: Crl, expected: Expected) => Refused | false | Promise<Refused | false>;

/** Clocks may be apart by so much. */
const TOLERATED_MS = 300_000;

/** Each needs what those before it have found. */
const checks: readonly Check[] = [isOfIssuer, isSignedByIssuer, isWhole, isNumbered, isCurrent];

/**
 * Publishes a CRL in PEM as that of an offline CA cert. The one that is there stays where the new one is refused. Throws
 * `not_found`, `managed_by_kubernetes`, `invalid` with the reason, `conflict`.
 */
export async function uploadCrl(ca: Ca, author: Author, id: string, pem: string): Promise<SingleSigningCertView> {
  const row = await requireSigningCert(ca, id);
  requireChangeableBy('signing_cert', row, author);
  if (row.key_availability === 'online' || row.der === null)
    throw new CaError('invalid', 'The CRL of an online CA cert is made here; only that of an offline one is given.', {
      field: 'crl',
    });
  const last = await findPublishedCrl(ca, id);
  const crl = await readSound(pem, { issuer: parseCertificate(row.der), now: ca.clock.now(), last });
  // The same may be sent once more.
  if (String(crl.number) !== last?.number) await publish(ca, author, id, crl, last);
  return getSigningCert(ca, id);
}

type SoundCrl = Crl & { readonly number: bigint; readonly nextUpdate: Date };

async function readSound(pem: string, expected: Expected): Promise<SoundCrl> {
  const problems = new FieldProblems();
  const crl = await problems.reading('crl', async () => {
    const read = await readCrlPem(pem);
    for (const check of checks) {
      const refused = await check(read, expected);
      if (refused === false) continue;
      problems.add({ field: 'crl', ...refused });
      break;
    }
    return read;
  });
  problems.refuse();
  const { nextUpdate, extensions = undefined } = crl ?? {};
  if (crl === undefined || nextUpdate === undefined || extensions?.crlNumber === undefined)
    throw new Error('a CRL passed its checks without number or dates');
  return { ...crl, nextUpdate, number: extensions.crlNumber };
}

async function publish(ca: Ca, author: Author, id: string, crl: SoundCrl, last?: PublishedCrl): Promise<void> {
  const { number, thisUpdate, nextUpdate, der } = crl;
  await ca.database.inTransaction(async (tx) => {
    if ((await lockSigningCert(tx, id)) === undefined) throw changedMeanwhile('signing_cert');
    const stored = await storeUploadedCrl(tx, { signingCertId: id, number, thisUpdate, nextUpdate, der });
    if (!stored) throw changedMeanwhile('signing_cert');
    await recordChange(tx, author, ca.clock.now(), {
      action: 'update',
      kind: 'signing_cert',
      id,
      before: { crl_number: last?.number ?? null },
      after: { crl_number: String(number), crl_next_update: nextUpdate },
    });
  });
  const { entryCount: entries } = crl;
  ca.events.crlUploaded({ signingCert: formatId('scrt', id), number: String(number), entries, thisUpdate, nextUpdate });
}

function isOfIssuer({ issuer, extensions }: Crl, expected: Expected): Refused | false {
  const { subject } = expected.issuer;
  if (!issuer.der.equals(subject.der)) {
    const message = `The CRL is that of ${nameText(issuer)}; this CA cert is ${nameText(subject)}.`;
    return { code: 'wrong_issuer', message };
  }
  const { authorityKeyIdentifier: key } = extensions;
  if (key === undefined || key.equals(subjectKeyIdentifierOf(expected.issuer))) return false;
  return {
    code: 'wrong_issuer',
    message: 'The CRL is by another key of a CA of this name: its key identifier differs.',
  };
}

async function isSignedByIssuer(crl: Crl, { issuer }: Expected): Promise<Refused | false> {
  if (await isSignedBy(crl, issuer.spki)) return false;
  return { code: 'bad_signature', message: 'The CRL is not signed by the key of this CA cert, or was damaged.' };
}

/** Critical extensions make a CRL one of a part of the certificates, or a delta (RFC 5280 sections 5.2.4 and 5.2.5). */
function isWhole({ extensions: { unknownCritical } }: Crl): Refused | false {
  if (unknownCritical.length === 0) return false;
  const message = `The CRL has critical extensions that are not understood here: ${unknownCritical.join(', ')}. Give a full CRL of all certificates of the CA.`;
  return { code: 'bad_extension', message };
}

async function isNumbered({ der, extensions: { crlNumber } }: Crl, { last }: Expected): Promise<Refused | false> {
  if (crlNumber === undefined)
    return { code: 'no_number', message: 'The CRL has no CRL number, which says which of two is newer.' };
  if (last === undefined || crlNumber > BigInt(last.number)) return false;
  const isSame = String(crlNumber) === last.number && (await last.read())?.equals(der);
  if (isSame) return false;
  const message = `The CRL has the number ${crlNumber}, and the one that is published has ${last.number}; give one with a greater number.`;
  return { code: 'older', message };
}

function isCurrent({ thisUpdate, nextUpdate }: Crl, { now }: Expected): Refused | false {
  if (nextUpdate === undefined)
    return { code: 'no_next_update', message: 'The CRL does not say until when it holds (nextUpdate).' };
  if (nextUpdate <= now) return { code: 'expired', message: `The CRL ended on ${formatSeconds(nextUpdate)}.` };
  if (thisUpdate.getTime() <= now.getTime() + TOLERATED_MS) return false;
  return { code: 'not_yet_valid', message: `The CRL begins only on ${formatSeconds(thisUpdate)}.` };
}
