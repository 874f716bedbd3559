// The keys of CA certs, held against the rows that need them: for readiness, and for who looks after the service.
import { type KeyHolder, listKeyHolders } from '../store/key-holders.ts';
import { parseCertificate } from '../x509/certificate.ts';
import type { Ca } from './ca.ts';
import { CaError } from './errors.ts';
import { formatId } from './ids.ts';
import type { StoredKey } from './ports.ts';

export type KeyInventory = {
  /** How many CA certs have their key. */
  readonly fitting: number;
  /** CA certs whose key is missing or another's, in words. */
  readonly troubles: readonly string[];
  /** What keys are called that belong to no row: nothing removes them, since a database of old may need them. */
  readonly strays: readonly string[];
};

/** Throws `unavailable` where the key store cannot be read, or holds a damaged key. */
export async function inventoryOfKeys(ca: Ca): Promise<KeyInventory> {
  const holders = await listKeyHolders(ca.database.db);
  const stored = new Map((await ca.keys.list()).map((key) => [key.ref, key]));
  const signing = holders.filter(({ isSigning }) => isSigning);
  const troubles = signing.flatMap((holder) => troubleOf(ca, holder, stored.get(holder.ref)));
  const known = new Set(holders.map(({ ref }) => ref));
  const strays = [...stored.keys()].filter((ref) => !known.has(ref) && !isOfTheService(ref));
  return { fitting: signing.length - troubles.length, troubles, strays: strays.map(ca.keys.nameOf) };
}

/**
 * Opens the keys of all CA certs, which then stay open. Throws `unavailable` where there are some and none can be opened:
 * one that is lost does not keep the others from serving.
 */
export async function requireLoadableKeys(ca: Ca): Promise<void> {
  const holders = (await listKeyHolders(ca.database.db)).filter(({ isSigning }) => isSigning);
  const opened = await Promise.allSettled(holders.map(({ ref }) => ca.keys.signer(ref)));
  const refusals = opened.filter((result) => result.status === 'rejected').map(({ reason }): unknown => reason);
  const bug = refusals.find((reason) => !(reason instanceof CaError));
  if (bug !== undefined) throw bug;
  if (refusals.length > 0 && refusals.length === holders.length) throw refusals[0];
}

function troubleOf(ca: Ca, { id, name, ref, der }: KeyHolder, key: StoredKey | undefined): readonly string[] {
  const title = `${name} (${formatId('scrt', id)}, ${ca.keys.nameOf(ref)})`;
  if (key === undefined) return [`the key of ${title} is missing`];
  if (der === null || parseCertificate(der).spki.equals(key.spki)) return [];
  return [`the key of ${title} is not that of its certificate`];
}

/** Keys of our own HTTPS and of sealing. */
const isOfTheService = (ref: string): boolean => /^(serving-ca|wrap)\b/.test(ref);
