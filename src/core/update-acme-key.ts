// Changing an account key: its name, its contacts, how its orders are validated, and the key itself.
import type { UpdateInput } from '../resources/field.ts';
import type { acmeKeyFields } from '../resources/fields.ts';
import { type AcmeKeyChanges, type AcmeKeyRow, updateAcmeKey as updateRow } from '../store/acme-keys.ts';
import type { Tx } from '../store/database.ts';
import { endAuthorizations, endOrders } from '../store/open-work.ts';
import type { Fence } from '../store/origin.ts';
import { claimKey, invalidateKey } from '../store/used-keys.ts';
import { type AccountKey, accountKeyProblems, claimingKey, readAccountKey } from './account-key.ts';
import {
  type AcmeKeyView,
  acmeKeyView,
  auditedAcmeKey,
  changeRefused,
  requireAcmeKey,
  requireValid,
} from './acme-keys.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { differing } from './differing.ts';
import { otherDirectory } from './directory-reference.ts';
import { CaError } from './errors.ts';
import { detailOf } from './field-problems.ts';
import { changedMeanwhile } from './object-kinds.ts';
import { canonicalOrderValidations } from './order-validations.ts';

type Input = UpdateInput<typeof acmeKeyFields>;

/**
 * Changes what `input` names; `directory_id` is a uuid. A new public key withdraws the old one for ever. From auto
 * approval back to `challenge`, open orders that lean on it end with it (AUTO-6). Throws `not_found`,
 * `managed_by_kubernetes`, `key_not_valid`, `immutable`, `invalid`, `key_reused`, `key_invalidated`, and `conflict` when
 * somebody else changed it meanwhile. Locks the account, then its orders and authorizations.
 */
export async function updateAcmeKey(ca: Ca, actor: Actor, id: string, input: Input): Promise<AcmeKeyView> {
  const seen = await requireAcmeKey(ca.database.db, id);
  requireValid(seen);
  requireSameDirectory(seen, input);
  const key = newKeyOf(seen, input);
  const changes = { ...changesOf(seen, input), ...(key && keyColumns(key)) };
  if (Object.keys(changes).length === 0) return acmeKeyView(ca, seen);
  const write = () => writeAcmeKey(ca, actor, seen, changes);
  return acmeKeyView(ca, await (key === undefined ? write() : claimingKey(ca, key.thumbprint, write)));
}

/**
 * Writes changes of a row as it was seen, for /v1 or, with a fence, for the custom resource that it belongs to. Throws
 * `conflict`, and for /v1 what else speaks against it.
 */
export const writeAcmeKey = (
  ca: Ca,
  actor: Actor,
  seen: AcmeKeyRow,
  changes: AcmeKeyChanges,
  fence?: Fence,
): Promise<AcmeKeyRow> => ca.database.inTransaction((tx) => writeChanges(tx, ca, actor, seen, changes, fence));

async function writeChanges(
  tx: Tx,
  ca: Ca,
  actor: Actor,
  seen: AcmeKeyRow,
  changes: AcmeKeyChanges,
  fence: Fence | undefined,
): Promise<AcmeKeyRow> {
  const { id } = seen;
  const now = ca.clock.now();
  // Before the row, as whoever registers a key does: in the other order the two could wait for each other.
  if (changes.thumbprint !== undefined) await claimKey(tx, changes.thumbprint, id, now);
  const row = await updateRow(tx, seen, changes, fence);
  if (row === undefined) throw fence === undefined ? await changeRefused(tx, id) : changedMeanwhile('acme_key');
  if (changes.thumbprint !== undefined) await invalidateKey(tx, seen.thumbprint);
  if (changes.order_validations === 'challenge') await endAutoApproval(tx, id, now);
  const fields = { before: auditedAcmeKey(seen), after: auditedAcmeKey(row) };
  if (Object.keys(differing(fields.before, fields.after)).length > 0)
    await recordChange(tx, actor, now, { action: 'update', kind: 'acme_key', id, ...fields });
  return row;
}

async function endAutoApproval(tx: Tx, id: string, now: Date): Promise<void> {
  await endOrders(tx, id, 'auto', {
    type: 'unauthorized',
    detail:
      'The orders of this account are validated by challenge again, and this one was approved without; order anew.',
  });
  await endAuthorizations(tx, id, 'auto', now);
}

/** Throws `immutable`, and tells of an unreadable key with it. */
function requireSameDirectory(seen: AcmeKeyRow, { directory_id: given, public_key: pem }: Input): void {
  const moved = otherDirectory(seen, given);
  if (moved.length === 0) return;
  const problems = [...moved, ...(pem === undefined ? [] : accountKeyProblems(pem))];
  throw new CaError('immutable', detailOf(problems), { problems });
}

/** Undefined where none is sent, or the one that it has. */
function newKeyOf(seen: AcmeKeyRow, { public_key: pem }: Input): AccountKey | undefined {
  const key = pem === undefined ? undefined : readAccountKey(pem);
  return key?.thumbprint.equals(seen.thumbprint) === false ? key : undefined;
}

const keyColumns = ({ spki, jwk, thumbprint }: AccountKey) => ({ spki, thumbprint, jwk: JSON.stringify(jwk) });

const changesOf = (seen: AcmeKeyRow, { name, contacts, order_validations: validations }: Input): AcmeKeyChanges =>
  differing(seen, {
    name: name === null ? '' : name,
    contacts,
    order_validations: validations && canonicalOrderValidations(validations),
  });
