// The account key that a custom resource declares: registered once, compared at every visit. What its ACME client changes
// since then, the key and the contacts, wins.
import {
  adoptAcmeKey,
  type DeclaredAcmeKeyRow,
  findAcmeKeyToAdopt,
  findDeclaredAcmeKey,
} from '../store/declared-acme-keys.ts';
import { findKeyUse } from '../store/used-keys.ts';
import { readAccountKey } from './account-key.ts';
import { type AcmeKeyView, acmeKeyView, auditedAcmeKey } from './acme-keys.ts';
import { namedRow, nobodys, takenOver } from './adoption.ts';
import type { Ca } from './ca.ts';
import { type AppliedAs, alreadyExists, customResource, type Declared, isOwn } from './declared.ts';
import { differing } from './differing.ts';
import { CaError } from './errors.ts';
import { formatId, newUuid } from './ids.ts';
import type { OrderValidations } from './order-validations.ts';
import { ownerOf } from './origin.ts';
import { refusalOf } from './refusals.ts';
import { registerAccount } from './register-account.ts';
import { writeAcmeKey } from './update-acme-key.ts';
import { directoryUrl } from './urls.ts';

export type DeclaredAcmeKey = {
  /** A uuid. */
  readonly directory_id: string;
  readonly name: string;
  readonly contacts: readonly string[];
  readonly order_validations: OrderValidations;
  /** PEM: of the key to begin with, or of one that is made when an account is to be registered. */
  readonly publicKey: { readonly given: string } | { readonly make: () => Promise<string> };
};

const KIND = 'acme_key';
const adoption = { write: adoptAcmeKey, audited: auditedAcmeKey };

export type AppliedAcmeKey = {
  readonly as: AppliedAs;
  readonly view: AcmeKeyView & { readonly directoryUrl: string };
};

/**
 * Registers the key, takes its account over, or makes a valid account what it is declared as; one statement where it is
 * as declared. Throws `invalid`, `unknown_reference`, `key_reused`, `key_invalidated`, `immutable`, `already_exists`,
 * `not_found` for the one to adopt, and `conflict` for an earlier state of the object. Locks the account, its orders and
 * authorizations.
 */
export async function applyAcmeKey(ca: Ca, declared: Declared, wanted: DeclaredAcmeKey): Promise<AppliedAcmeKey> {
  const seen =
    (await findDeclaredAcmeKey(ca.database.db, declared)) ?? (await namedRow(ca, KIND, declared, findAcmeKeyToAdopt));
  return seen === undefined ? register(ca, declared, wanted) : settle(ca, declared, wanted, seen);
}

/** Whether the key, in PEM, is or was that of the account. Throws `invalid`. */
export async function isKeyOfAccount(ca: Ca, acmeKeyId: string, publicKey: string): Promise<boolean> {
  const { thumbprint } = readAccountKey(publicKey);
  return (await findKeyUse(ca.database.db, thumbprint))?.acme_key_id === acmeKeyId;
}

async function register(ca: Ca, declared: Declared, wanted: DeclaredAcmeKey): Promise<AppliedAcmeKey> {
  const { directory_id: directoryId, name, contacts, order_validations: orderValidations, publicKey } = wanted;
  const pem = 'given' in publicKey ? publicKey.given : await publicKey.make();
  const key = readAccountKey(pem);
  const id = newUuid(ca.clock.now());
  const sponsor = { name, orderValidations };
  try {
    const registration = { id, directoryId, key, contacts, origin: declared, sponsor };
    return applied(ca, 'created', await registerAccount(ca, customResource(declared), registration));
  } catch (error) {
    // Another operator may have been first.
    const refusal = refusalOf(error);
    if (refusal?.kind !== 'key_reused' && refusal?.kind !== 'conflict') throw error;
    const other = await findDeclaredAcmeKey(ca.database.db, declared);
    if (other !== undefined) return settle(ca, declared, wanted, other);
    throw (await adoptable(ca, key.thumbprint, directoryId)) ?? error;
  }
}

async function settle(
  ca: Ca,
  declared: Declared,
  wanted: DeclaredAcmeKey,
  seen: DeclaredAcmeKeyRow,
): Promise<AppliedAcmeKey> {
  const isOurs = isOwn(KIND, declared, seen);
  await requireSame(ca, seen, wanted, isOurs);
  const row = isOurs ? seen : await takenOver(ca, KIND, declared, seen, adoption);
  const changes = row.state === 'valid' ? changesOf(row, wanted) : {};
  const hasChanges = Object.keys(changes).length > 0;
  const isLater = row.state === 'valid' && (row.origin_generation ?? 0) < declared.generation;
  const as = hasChanges ? 'updated' : 'unchanged';
  if (!hasChanges && !isLater) return applied(ca, isOurs ? as : 'adopted', row);
  const all = { ...changes, origin_generation: declared.generation };
  const written = await writeAcmeKey(ca, customResource(declared), row, all, declared);
  return applied(ca, isOurs ? as : 'adopted', written);
}

/** Contacts are written where they are declared anew: else those of the client would be lost. */
const changesOf = (row: DeclaredAcmeKeyRow, { name, contacts, order_validations }: DeclaredAcmeKey) => ({
  ...differing(row, { name, order_validations }),
  ...(JSON.stringify(row.contacts_declared) !== JSON.stringify(contacts) && { contacts, contacts_declared: contacts }),
});

/** Throws `immutable`, or `already_exists` for an account that would be taken over. */
async function requireSame(ca: Ca, row: DeclaredAcmeKeyRow, wanted: DeclaredAcmeKey, isOurs: boolean): Promise<void> {
  const isMoved = row.directory_id !== wanted.directory_id;
  if (isMoved && isOurs) {
    throw new CaError(
      'immutable',
      `The account of this object is in ${formatId('dir', row.directory_id)}, and directoryRef cannot change. Delete the object and declare it again.`,
    );
  }
  if (isOurs) return;
  const { publicKey } = wanted;
  const isOther = 'given' in publicKey && !(await isKeyOfAccount(ca, row.id, publicKey.given));
  const fields = [...(isMoved ? ['directoryRef'] : []), ...(isOther ? ['publicKey'] : [])];
  if (fields.length > 0) throw alreadyExists(KIND, row, fields);
}

/** The refusal that says how to take the account of the key over; undefined where that cannot be done. */
async function adoptable(ca: Ca, thumbprint: Buffer, directoryId: string): Promise<CaError | undefined> {
  const { db } = ca.database;
  const use = await findKeyUse(db, thumbprint);
  const row =
    use?.why === 'account' && use.acme_key_id !== null ? await findAcmeKeyToAdopt(db, use.acme_key_id) : undefined;
  if (row === undefined || ownerOf(row) !== undefined || row.directory_id !== directoryId) return undefined;
  return nobodys('The public key is that of an account key', 'declare another key');
}

const applied = (ca: Ca, as: AppliedAs, row: Parameters<typeof acmeKeyView>[1]): AppliedAcmeKey => ({
  as,
  view: { ...acmeKeyView(ca, row), directoryUrl: directoryUrl(ca.urls, row.slug) },
});
