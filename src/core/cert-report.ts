// Issued certs as the status page lists them: with their begin and whether another one has taken their place.
import { listLiveCertsAcross } from '../store/across.ts';
import { findIssuedCert } from '../store/issued-certs.ts';
import type { PageRequest } from '../store/keyset.ts';
import { type CertFactsRow, findCertFacts, findCertIdsOfKey } from '../store/shown-certs.ts';
import { listSigningCertRows } from '../store/signing-certs.ts';
import type { Ca } from './ca.ts';
import {
  getIssuedCert,
  type IssuedCertFilter,
  type IssuedCertView,
  issuedCertView,
  listIssuedCerts,
} from './issued-certs.ts';
import type { PagePlace } from './order-report.ts';
import type { Page } from './paging.ts';

export type ListedCert = IssuedCertView & {
  /** Hex. */
  readonly serial: string;
  readonly notBefore: Date;
  readonly revokedAt: Date | undefined;
  /** The order that renewed it, where the client said so (RFC 9773). */
  readonly replacedBy: string | undefined;
};

export type CertReport = ListedCert & {
  readonly publicCert: string;
  readonly certChain: readonly string[];
  /** RFC 7638, of its key, base64url. */
  readonly thumbprint: string;
};

/** CA certs looked at where none is named. */
export const MOST_CAS_ASKED = 100;
/** Certificates of one key, or of one serial number. */
const MOST_FOUND = 50;

type IdFilter = Pick<IssuedCertFilter, 'acmeKeyId' | 'directoryId' | 'signingCertId' | 'state'>;

/** Of a directory, an account key or a CA cert: what is valid by its end, all else by id. Throws `unknown_cursor`. */
export async function listReportedCerts(ca: Ca, filter: IdFilter, place: PagePlace): Promise<Page<ListedCert>> {
  const direction = filter.state === 'valid' ? 'asc' : 'desc';
  return withFacts(ca, await listIssuedCerts(ca, filter, pageRequest(direction, place)));
}

/** What is valid and ends first, of all intermediates here. */
export async function listEndingCerts(ca: Ca, { limit, after }: PagePlace): Promise<Page<ListedCert>> {
  const { db } = ca.database;
  const now = ca.clock.now();
  const newest = { limit: MOST_CAS_ASKED, direction: 'desc', sort: 'id' } as const;
  const issuers = await listSigningCertRows(db, { certType: 'intermediate' }, newest);
  const ids = issuers?.rows.map(({ id }) => id) ?? [];
  const rows = await listLiveCertsAcross(db, now, { ids, limit, after });
  const items = rows.slice(0, limit).map((row) => issuedCertView(row, now));
  return withFacts(ca, { items, hasMore: rows.length > limit });
}

/** The newest first, for this name or address exactly. Throws `unknown_cursor`. */
export const listCertsFor = async (ca: Ca, subject: string, place: PagePlace): Promise<Page<ListedCert>> =>
  withFacts(ca, await listIssuedCerts(ca, { subject }, pageRequest('desc', place)));

export const listCertsOfSerial = async (ca: Ca, serial: Buffer): Promise<Page<ListedCert>> =>
  withFacts(ca, await listIssuedCerts(ca, { serial }, pageRequest('desc', { limit: MOST_FOUND, after: undefined })));

/** Those whose key has this thumbprint, the newest first. */
export async function listCertsOfKey(ca: Ca, thumbprint: Buffer): Promise<Page<ListedCert>> {
  const { db } = ca.database;
  const now = ca.clock.now();
  const ids = await findCertIdsOfKey(db, thumbprint, MOST_FOUND);
  const rows = await Promise.all(ids.map((id) => findIssuedCert(db, id)));
  const items = rows.flatMap((row) => (row === undefined ? [] : [issuedCertView(row, now)]));
  return withFacts(ca, { items: items.sort((a, b) => (a.id < b.id ? 1 : -1)), hasMore: false });
}

/** One by its uuid, with certificate and chain. Throws `not_found`. */
export async function getCertReport(ca: Ca, id: string): Promise<CertReport> {
  const [view, facts] = await Promise.all([getIssuedCert(ca, id), findCertFacts(ca.database.db, [id])]);
  return {
    ...view,
    ...shownFacts(facts.get(id)),
    thumbprint: facts.get(id)?.key_thumbprint.toString('base64url') ?? '',
  };
}

async function withFacts(ca: Ca, { items, hasMore }: Page<IssuedCertView>): Promise<Page<ListedCert>> {
  const ids = items.map(({ id }) => id);
  const facts = ids.length === 0 ? undefined : await findCertFacts(ca.database.db, ids);
  return { items: items.map((item) => ({ ...item, ...shownFacts(facts?.get(item.id)) })), hasMore };
}

/** A row that retention has just removed has none any more. */
const shownFacts = (facts: CertFactsRow | undefined) => ({
  serial: facts?.serial.toString('hex') ?? '',
  notBefore: facts?.not_before ?? new Date(0),
  revokedAt: facts?.revoked_at ?? undefined,
  replacedBy: facts?.replaced_by ?? undefined,
});

const pageRequest = (direction: PageRequest['direction'], { limit, after }: PagePlace): PageRequest => ({
  limit,
  direction,
  sort: 'id',
  ...(after !== undefined && { after }),
});
