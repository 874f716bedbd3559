// Deleting a CA cert: it is gone from reads at once, its row stays for the chains of old certificates, its key goes later.
import { formatSeconds } from '../schema/timestamp.ts';
import type { Tx } from '../store/database.ts';
import {
  countSigningCertUsers,
  findSigningCertUsers,
  MOST_COUNTED,
  type UserCounts,
} from '../store/signing-cert-users.ts';
import { lockSigningCert, markSigningCertDeleted, type SigningCertRow } from '../store/signing-certs.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import { requireChangeableBy } from './declared.ts';
import { CaError } from './errors.ts';
import { formatId } from './ids.ts';
import { found } from './object-kinds.ts';
import type { Author } from './origin.ts';
import { signingCertFacts } from './signing-cert-facts.ts';

const usersInWords: readonly (readonly [keyof Omit<UserCounts, 'leaves_end'>, one: string, many: string])[] = [
  ['children', 'CA cert below it', 'CA certs below it'],
  ['directories', 'directory', 'directories'],
  ['orders', 'order that is being signed', 'orders that are being signed'],
  ['leaves', 'issued cert that has not expired', 'issued certs that have not expired'],
];

/**
 * Locks the CA cert before it looks for who depends on it, so that nobody comes to depend on it meanwhile. Throws
 * `not_found`, `managed_by_kubernetes`, `conflict`, and `in_use` saying how many depend on it and until when.
 */
export async function deleteSigningCert(ca: Ca, author: Author, id: string): Promise<void> {
  const now = ca.clock.now();
  const row = await ca.database.inTransaction(async (tx) => {
    const locked = found('signing_cert', id, await lockSigningCert(tx, id));
    requireChangeableBy('signing_cert', locked, author);
    await refuseUsed(tx, locked, now);
    await markSigningCertDeleted(tx, id, now);
    const before = signingCertFacts(locked);
    await recordChange(tx, author, now, { action: 'delete', kind: 'signing_cert', id, before });
    return locked;
  });
  ca.events.signingCertDeleted({ id: formatId('scrt', id), ...signingCertFacts(row) });
}

async function refuseUsed(tx: Tx, { id, name }: SigningCertRow, now: Date): Promise<void> {
  const users = await findSigningCertUsers(tx, id, now);
  if (!Object.values(users).some((isUser) => isUser)) return;
  const counts = await countSigningCertUsers(tx, id, now);
  const found = usersInWords
    .filter(([user]) => counts[user] > 0)
    .map(([user, one, many]) => inWords(counts[user], one, many));
  const until = counts.leaves_end === null ? '' : `, the last of them on ${formatSeconds(counts.leaves_end)}`;
  const detail = `CA cert ${name} cannot be deleted, because these depend on it: ${found.join(', ')}; they have to end first${until}.`;
  throw new CaError('in_use', detail);
}

const inWords = (count: number, one: string, many: string): string =>
  count > MOST_COUNTED ? `more than ${MOST_COUNTED} ${many}` : `${count} ${count === 1 ? one : many}`;
