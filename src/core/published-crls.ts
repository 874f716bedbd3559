// CRLs as relying parties read them: which one there is, from the database at every request; its bytes are kept in memory,
// because a number never stands for other bytes.
import { type CrlVersion, crlKey, findCrlBytes, findCrlVersion } from '../store/crls.ts';
import type { Ca } from './ca.ts';
import { Recent } from './recent.ts';

export type PublishedCrl = {
  readonly number: string;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date;
  /** DER; undefined where this CRL has just been replaced. */
  read(): Promise<Buffer | undefined>;
};

const MOST_BYTES = 64 * 1024 * 1024;
/** The newest of each CA. */
const kept = new Recent<{ readonly key: string; readonly der: Buffer }>(MOST_BYTES, ({ der }) => der.length);

/** Of a CA cert by its uuid, deleted ones included; undefined where there was never one. One statement for many callers. */
export async function findPublishedCrl(ca: Ca, signingCertId: string): Promise<PublishedCrl | undefined> {
  const version = await findCrlVersion(ca.database.db, signingCertId);
  if (version === undefined) return undefined;
  const { number, this_update: thisUpdate, next_update: nextUpdate } = version;
  return { number, thisUpdate, nextUpdate, read: () => bytesOf(ca, version) };
}

/** For who has the bytes of a CRL in hand. */
export function keepCrlBytes(version: Pick<CrlVersion, 'id' | 'number'>, der: Buffer): void {
  kept.set(version.id, { key: crlKey(version), der });
}

async function bytesOf(ca: Ca, version: CrlVersion): Promise<Buffer | undefined> {
  const key = crlKey(version);
  const newest = kept.get(version.id);
  if (newest?.key === key) return newest.der;
  const der = await findCrlBytes(ca.database.db, key);
  if (der !== undefined) keepCrlBytes(version, der);
  return der;
}
