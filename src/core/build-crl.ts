// One CRL, from the revocations in the database to its place there: gathered, signed, verified, and only then published.
import { type CrlState, latestRevokedEnd, type NewCrl, readEntries, replaceCrl } from '../store/crls.ts';
import type { Claim } from '../store/due.ts';
import { isSignedBy } from '../x509/certificate.ts';
import { assembleCrl, buildTbsCrl } from '../x509/crl.ts';
import { parseCrl } from '../x509/crl-reader.ts';
import type { Ca } from './ca.ts';
import { formatId } from './ids.ts';
import { type Issuer, readIssuer } from './issuers.ts';
import { keepCrlBytes } from './published-crls.ts';

/** Of schedule: seven days from thisUpdate to nextUpdate, both counted. */
export const CRL_LIFE_MS = 7 * 86_400_000 - 1_000;
export const CRL_REFRESH_MS = 12 * 3_600_000;
/** For relying parties whose clocks are late. */
const BACKDATE_MS = 60_000;
/** Between two builds; as long as one takes, where that is long. */
const PAUSE_MS = 200;
const LONG_BUILD_MS = 1_000;
/** A chunk is one value on the wire, taken in one turn of the event loop; more of them would cost more in all. */
const ENTRIES_AT_ONCE = 50_000;

type Entries = {
  readonly pieces: readonly Buffer[];
  readonly count: number;
  /** When the latest of them was revoked. */
  readonly latest: Date;
};

/**
 * Builds the CRL of a CA cert whose key is here. That of a deleted one is its last: it outlives every certificate on it.
 * False when somebody else replaced it first, or the claim was lost. Throws `unavailable` where nothing can be signed now.
 */
export async function buildCrl(ca: Ca, id: string, state: CrlState, claim?: Claim): Promise<boolean> {
  const now = ca.clock.signingTime();
  const issuer = await readIssuer(ca.database.db, id);
  const signer = await ca.keys.signer(state.key_ref ?? '');
  const entries = await gatherEntries(ca, id, state);
  const dates = await datesOf(ca, issuer, state, entries.latest, now);
  const number = nextNumber(state.number, now);
  const tbs = buildTbsCrl({
    ...dates,
    number,
    entries: entries.pieces,
    issuer: issuer.subject,
    issuerKeyIdentifier: issuer.keyIdentifier,
    issuerKeyType: signer.keyType,
  });
  const der = assembleCrl(tbs, signer.keyType, await signer.sign(tbs));
  await requireSound(der, issuer, number, entries.count);
  const crl: NewCrl = { ...dates, signingCertId: id, number, seenNumber: state.number, der };
  const ended = ca.clock.now().getTime();
  const durationMs = ended - now.getTime();
  const next = {
    refreshAt: state.is_deleted ? null : new Date(ended + CRL_REFRESH_MS),
    soon: new Date(ended + (durationMs < LONG_BUILD_MS ? PAUSE_MS : durationMs)),
  };
  if (!(await replaceCrl(ca.database.db, crl, next, claim))) return false;
  keepCrlBytes({ id, number: String(number) }, der);
  ca.events.crlPublished({
    signingCert: formatId('scrt', id),
    number: String(number),
    entries: entries.count,
    bytes: der.length,
    durationMs,
    ...dates,
  });
  return true;
}

/** Grows even where an older database was restored, or the clock set back. */
function nextNumber(last: string | null, now: Date): bigint {
  const [time, following] = [BigInt(now.getTime()), BigInt(last ?? 0) + 1n];
  return time > following ? time : following;
}

/** What has expired stays until it has stood on one CRL after its end (RFC 5280 section 3.3). */
async function gatherEntries(ca: Ca, id: string, { this_update }: CrlState): Promise<Entries> {
  const pieces: Buffer[] = [];
  let count = 0;
  let latest = new Date(0);
  const from = { endsFrom: this_update ?? new Date(0), limit: ENTRIES_AT_ONCE };
  for (let after: Buffer = Buffer.alloc(0); ; ) {
    const chunk = await readEntries(ca.database.db, id, { after, ...from });
    if (chunk === undefined) return { pieces, count, latest };
    pieces.push(chunk.entries);
    count += chunk.count;
    if (chunk.latest > latest) latest = chunk.latest;
    after = chunk.last;
  }
}

async function datesOf(
  ca: Ca,
  { id, notBefore }: Issuer,
  { is_deleted, this_update }: CrlState,
  latest: Date,
  now: Date,
) {
  // A second later than the one before, wherever that is not in the future: Last-Modified tells them apart.
  const later = (this_update?.getTime() ?? 0) + 1_000;
  const backdated = now.getTime() - BACKDATE_MS;
  // A list is not older than a revocation on it (RFC 5280 sections 5.1.2.4 and 5.1.2.6).
  const start = Math.min(now.getTime(), Math.max(backdated, notBefore.getTime(), later, latest.getTime()));
  const lastEnd = is_deleted ? await latestRevokedEnd(ca.database.db, id) : undefined;
  const end = Math.max(start + CRL_LIFE_MS, (lastEnd?.getTime() ?? 0) + CRL_REFRESH_MS);
  return { thisUpdate: wholeSeconds(start), nextUpdate: wholeSeconds(end) };
}

/** As the CRL itself says it. */
const wholeSeconds = (ms: number): Date => new Date(Math.floor(ms / 1000) * 1000);

/** Throws where the bytes are not what they were to be, which is a bug or a broken key store: the old CRL stays. */
async function requireSound(der: Buffer, issuer: Issuer, number: bigint, count: number): Promise<void> {
  const crl = await parseCrl(der, der.length);
  const faults = [
    !crl.issuer.der.equals(issuer.subject) && 'names another issuer',
    crl.extensions.crlNumber !== number && `has the number ${crl.extensions.crlNumber}, not ${number}`,
    crl.entryCount !== count && `has ${crl.entryCount} entries, not ${count}`,
    !(await isSignedBy(crl, issuer.spki)) && 'is not signed by the key of its CA cert',
  ].filter((fault) => fault !== false);
  if (faults.length > 0) throw new Error(`The new CRL of CA cert ${issuer.id} ${faults.join(' and ')}.`);
}
