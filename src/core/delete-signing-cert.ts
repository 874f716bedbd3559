// Deleting a CA cert: it is gone from reads at once, its row stays for the chains of old certificates, its key goes later.
import {
  findSigningCertUsers,
  lockSigningCert,
  markSigningCertDeleted,
  type SigningCertUsers,
} from '../store/signing-certs.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { CaError } from './errors.ts';
import { formatId } from './ids.ts';
import { found } from './object-kinds.ts';
import { requireChangeable } from './origin.ts';
import { signingCertFacts } from './signing-cert-facts.ts';

const usersInWords: readonly (readonly [keyof SigningCertUsers, string])[] = [
  ['has_children', 'CA certs below it'],
  ['has_directories', 'directories'],
  ['has_orders', 'orders that are being signed'],
  ['has_leaves', 'unexpired issued certs'],
];

/**
 * Locks the CA cert before it looks for who depends on it, so that nobody comes to depend on it meanwhile. Throws
 * `not_found`, `managed_by_kubernetes` and `in_use`.
 */
export async function deleteSigningCert(ca: Ca, actor: Actor, id: string): Promise<void> {
  const now = ca.clock.now();
  const row = await ca.database.inTransaction(async (tx) => {
    const locked = found('signing_cert', id, await lockSigningCert(tx, id));
    requireChangeable('signing_cert', locked);
    refuseUsed(locked.name, await findSigningCertUsers(tx, id, now));
    await markSigningCertDeleted(tx, id, now);
    const before = signingCertFacts(locked);
    await recordChange(tx, actor, now, { action: 'delete', kind: 'signing_cert', id, before });
    return locked;
  });
  ca.events.signingCertDeleted({ id: formatId('scrt', id), ...signingCertFacts(row) });
}

function refuseUsed(name: string, users: SigningCertUsers): void {
  const found = usersInWords.filter(([user]) => users[user]).map(([, words]) => words);
  if (found.length === 0) return;
  const detail = `CA cert ${name} cannot be deleted, because these depend on it: ${found.join(', ')}; they have to end first.`;
  throw new CaError('in_use', detail);
}
