// Registering an account key: by an EAB token, which is spent, or by somebody who may vouch for it.
import type { AcmeKeyRow } from '../store/acme-keys.ts';
import type { AuditRecord } from '../store/audit.ts';
import type { Db } from '../store/database.ts';
import { findDirectory } from '../store/directories.ts';
import { type ExternalBindingRow, findExternalBinding } from '../store/external-bindings.ts';
import { insertAcmeKey, type NewAcmeKey } from '../store/register-account.ts';
import { findKeyUse } from '../store/used-keys.ts';
import { type AccountKey, claimingKey, KeyTaken } from './account-key.ts';
import { auditedAcmeKey } from './acme-keys.ts';
import { recordOf } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import type { Declared } from './declared.ts';
import { tokenUsed } from './external-bindings.ts';
import { formatId } from './ids.ts';
import { changedMeanwhile, notFound, unknownReference } from './object-kinds.ts';
import type { OrderValidations } from './order-validations.ts';

/** As it was read; what it gives to the account is written only while it is so. */
export type SeenToken = Pick<ExternalBindingRow, 'id' | 'name' | 'order_validations'>;

/** An EAB token, whose MAC has been verified, or values that somebody who may write gives. */
export type Sponsor =
  | { readonly token: SeenToken; readonly jws: string }
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

/** Of a token that its owner goes on changing. */
const MOST_ATTEMPTS = 8;

/** The same for a key that was looked up already. When it is not new any more, isKeyTaken is true of what is thrown. */
export async function registerNewKey(ca: Ca, actor: Actor, registration: Registration): Promise<AcmeKeyRow> {
  const { id, directoryId } = registration;
  const { db } = ca.database;
  const now = ca.clock.now();
  let { sponsor } = registration;
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const key = columnsOf({ ...registration, sponsor }, now);
    const row = await insertAcmeKey(db, { key, records: recordsOf(key, actor) });
    if (row !== undefined) {
      const by = sponsoredBy(registration);
      ca.events.acmeKeyRegistered({ id: formatId('acmk', id), directoryId: formatId('dir', directoryId), by });
      return row;
    }
    sponsor = await sponsorNow(db, registration);
  }
  throw changedMeanwhile('acme_key');
}

const sponsoredBy = ({ sponsor, origin }: Registration): string => {
  if ('jws' in sponsor) return 'external_binding';
  return origin === 'acme' ? 'open_registration' : 'public_key';
};

const columnsOf = (
  { id, directoryId, key, contacts, origin, sponsor, termsAgreed }: Registration,
  now: Date,
): NewAcmeKey => ({
  id,
  ...originColumns(origin),
  created_at: now,
  directory_id: directoryId,
  contacts,
  thumbprint: key.thumbprint,
  spki: key.spki,
  jwk: key.jwk,
  terms_agreed: termsAgreed ?? null,
  ...sponsorColumns(sponsor),
});

const originColumns = (origin: Registration['origin']) =>
  typeof origin === 'string'
    ? { origin, owner: undefined }
    : { origin: 'kubernetes' as const, owner: originOf(origin) };

const originOf = ({ namespace, name, uid, generation }: Declared) => ({ namespace, name, uid, generation });

const sponsorColumns = (sponsor: Sponsor) =>
  'jws' in sponsor
    ? {
        external_binding_id: sponsor.token.id,
        eab_jws: sponsor.jws,
        name: sponsor.token.name,
        order_validations: sponsor.token.order_validations,
      }
    : {
        external_binding_id: null,
        eab_jws: null,
        name: sponsor.name,
        order_validations: sponsor.orderValidations,
      };

/** Why nothing was registered; where nothing speaks against it any more, the sponsor as it is now. */
async function sponsorNow(db: Db, { directoryId, sponsor, key }: Registration): Promise<Sponsor> {
  const now = 'jws' in sponsor ? { ...sponsor, token: await unusedToken(db, directoryId, sponsor.token.id) } : sponsor;
  if ((await findDirectory(db, directoryId)) === undefined) throw unknownReference('directory', directoryId);
  if ((await findKeyUse(db, key.thumbprint)) !== undefined) throw new KeyTaken();
  return now;
}

async function unusedToken(db: Db, directoryId: string, id: string): Promise<SeenToken> {
  const token = await findExternalBinding(db, id);
  if (token?.directory_id !== directoryId) throw notFound('external_binding', id);
  if (token.acme_key_id !== null) throw tokenUsed(token.acme_key_id);
  return token;
}

function recordsOf(key: NewAcmeKey, actor: Actor): readonly AuditRecord[] {
  const { id, created_at: now, external_binding_id: tokenId } = key;
  const after = auditedAcmeKey({ ...key, state: 'valid' });
  const created = recordOf(actor, now, { action: 'create', kind: 'acme_key', id, after });
  if (tokenId === null) return [created];
  const account = { acme_key_id: formatId('acmk', id) };
  return [created, recordOf(actor, now, { action: 'use', kind: 'external_binding', id: tokenId, after: account })];
}
