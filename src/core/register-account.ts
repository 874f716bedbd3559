// Registering an account key: by an EAB token, which is spent, or by somebody who may vouch for it.
import { type AcmeKeyRow, insertAcmeKey } from '../store/acme-keys.ts';
import type { Tx } from '../store/database.ts';
import { findExternalBinding } from '../store/external-bindings.ts';
import { notifyOwners } from '../store/origin.ts';
import { type AccountKey, claimingKey } from './account-key.ts';
import { auditedAcmeKey } from './acme-keys.ts';
import { type Change, recordChanges } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import type { Declared } from './declared.ts';
import { tokenUsed } from './external-bindings.ts';
import { formatId } from './ids.ts';
import { notFound, unknownReference } from './object-kinds.ts';
import type { OrderValidations } from './order-validations.ts';

/** An EAB token, whose MAC has been verified, or values that somebody who may write gives. */
export type Sponsor =
  | { readonly externalBindingId: string; readonly jws: string }
  | { readonly name: string; readonly orderValidations: OrderValidations };

export type Registration = {
  /** A new uuid: it is given, because the account may be the actor itself. */
  readonly id: string;
  readonly directoryId: string;
  readonly key: AccountKey;
  readonly contacts: readonly string[];
  /** The door that it came through; a custom resource where it is declared. */
  readonly origin: 'api' | 'acme' | Declared;
  readonly sponsor: Sponsor;
  /** The URL of the terms that the client agreed to (ACC-15). */
  readonly termsAgreed?: string;
};

/**
 * Registers a key in a directory, once in the life of the service. One statement spends the token and, only from its
 * row, makes the account (EAB-7), so of any number at once one wins. Holds the directory, then the token. Throws
 * `key_reused`, `key_invalidated`, `unknown_reference` for the directory, and for the token `not_found`, in another
 * directory too, and `token_used`.
 */
export const registerAccount = (ca: Ca, actor: Actor, registration: Registration): Promise<AcmeKeyRow> =>
  claimingKey(ca, registration.key.thumbprint, () => registerNewKey(ca, actor, registration));

/** The same for a key that was looked up already: when it is not new any more, the database fails by used_keys_pkey. */
export async function registerNewKey(ca: Ca, actor: Actor, registration: Registration): Promise<AcmeKeyRow> {
  const { id, directoryId, key, contacts, origin, sponsor, termsAgreed } = registration;
  const now = ca.clock.now();
  const columns = {
    id,
    ...originColumns(origin),
    created_at: now,
    directory_id: directoryId,
    contacts,
    thumbprint: key.thumbprint,
    spki: key.spki,
    jwk: JSON.stringify(key.jwk),
    terms_agreed: termsAgreed ?? null,
  };
  const row = await ca.database.inTransaction(async (tx) => {
    const inserted = await insertAcmeKey(tx, columns, sponsorColumns(sponsor));
    if (inserted === undefined) throw await registrationRefused(tx, registration);
    await recordChanges(tx, actor, now, changesOf(inserted));
    if (inserted.token_owner !== null) await notifyOwners(tx, 'external_binding', [inserted.token_owner]);
    return inserted;
  });
  const by = sponsoredBy(registration);
  ca.events.acmeKeyRegistered({ id: formatId('acmk', id), directoryId: formatId('dir', directoryId), by });
  return row;
}

const sponsoredBy = ({ sponsor, origin }: Registration): string => {
  if ('jws' in sponsor) return 'external_binding';
  return origin === 'acme' ? 'open_registration' : 'public_key';
};

const originColumns = (origin: Registration['origin']) =>
  typeof origin === 'string' ? { origin, owner: undefined } : { origin: 'kubernetes' as const, owner: origin };

const sponsorColumns = (sponsor: Sponsor) =>
  'jws' in sponsor
    ? { external_binding_id: sponsor.externalBindingId, eab_jws: sponsor.jws }
    : { name: sponsor.name, order_validations: sponsor.orderValidations };

async function registrationRefused(tx: Tx, { directoryId, sponsor }: Registration): Promise<Error> {
  if (!('jws' in sponsor)) return unknownReference('directory', directoryId);
  const token = await findExternalBinding(tx, sponsor.externalBindingId);
  if (token?.directory_id !== directoryId) return notFound('external_binding', sponsor.externalBindingId);
  return token.acme_key_id === null ? unknownReference('directory', directoryId) : tokenUsed(token.acme_key_id);
}

function changesOf(row: AcmeKeyRow): readonly Change[] {
  const created: Change = { action: 'create', kind: 'acme_key', id: row.id, after: auditedAcmeKey(row) };
  if (row.external_binding_id === null) return [created];
  const after = { acme_key_id: formatId('acmk', row.id) };
  return [created, { action: 'use', kind: 'external_binding', id: row.external_binding_id, after }];
}
