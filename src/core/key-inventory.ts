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
  /** CA certs without theirs, by name, id and what the key is called. */
  readonly missing: readonly string[];
  /** Those where another key lies in its place. */
  readonly mismatched: readonly string[];
  /** What keys are called that belong to no row: nothing removes them, since a database of old may need them. */
  readonly strays: readonly string[];
};

/** Throws `unavailable` where the key store cannot be read, or holds a damaged key. */
export async function inventoryOfKeys(ca: Ca): Promise<KeyInventory> {
  const holders = await listKeyHolders(ca.database.db);
  const stored = new Map((await ca.keys.list()).map((key) => [key.ref, key]));
  const signing = holders.filter(({ isSigning }) => isSigning);
  const missing = signing.filter(({ ref }) => !stored.has(ref));
  const mismatched = signing.filter((holder) => isAnothers(holder, stored.get(holder.ref)));
  const titleOf = ({ name, id, ref }: KeyHolder): string => `${name} (${formatId('scrt', id)}, ${ca.keys.nameOf(ref)})`;
  const known = new Set(holders.map(({ ref }) => ref));
  const strays = [...stored.keys()].filter((ref) => !known.has(ref) && !isOfTheService(ref));
  return {
    fitting: signing.length - missing.length - mismatched.length,
    missing: missing.map(titleOf),
    mismatched: mismatched.map(titleOf),
    strays: strays.map(ca.keys.nameOf),
  };
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

const isAnothers = ({ der }: KeyHolder, key: StoredKey | undefined): boolean =>
  der !== null && key !== undefined && !parseCertificate(der).spki.equals(key.spki);

/** Keys of our own HTTPS and of sealing. */
const isOfTheService = (ref: string): boolean => /^(serving-ca|wrap)\b/.test(ref);
