// EAB tokens as callers see them: one, a list, and what each of them shows.
import type { Db, Tx } from '../store/database.ts';
import {
  type ExternalBindingFilter,
  type ExternalBindingRow,
  findExternalBinding,
  listExternalBindingRows,
} from '../store/external-bindings.ts';
import type { Ca } from './ca.ts';
import { type Caller, mayDo } from './caller.ts';
import { CaError } from './errors.ts';
import { formatId } from './ids.ts';
import { macKeyText } from './mac-key.ts';
import { changedMeanwhile, found } from './object-kinds.ts';
import type { OrderValidations } from './order-validations.ts';
import { requireChangeable } from './origin.ts';
import { type NameOrId, type Page, type PageRequest, pageOf } from './paging.ts';
import { openSecret } from './secret-box.ts';
import { directoryUrl } from './urls.ts';

export type ExternalBindingView = {
  readonly id: string;
  readonly directoryId: string;
  readonly directoryUrl: string;
  readonly name: string;
  readonly keyId: string | undefined;
  readonly orderValidations: OrderValidations;
  readonly acmeKeyId: string | undefined;
  /** For callers who may write; undefined for others. */
  readonly macKey: string | undefined;
};

/** A token by its uuid. Throws `not_found` and `unavailable`. */
export async function getExternalBinding(ca: Ca, caller: Caller, id: string): Promise<ExternalBindingView> {
  return externalBindingView(ca, caller, await requireExternalBinding(ca.database.db, id));
}

/** One page of tokens by id or name. Throws `unknown_cursor` and `unavailable`. */
export async function listExternalBindings(
  ca: Ca,
  caller: Caller,
  filter: ExternalBindingFilter,
  page: PageRequest<NameOrId>,
): Promise<Page<ExternalBindingView>> {
  const { items, hasMore } = pageOf(await listExternalBindingRows(ca.database.db, filter, page), (row) => row);
  return { items: await Promise.all(items.map((row) => externalBindingView(ca, caller, row))), hasMore };
}

/** Throws `not_found`, also for a deleted one. */
export async function requireExternalBinding(db: Db, id: string): Promise<ExternalBindingRow> {
  return found('external_binding', id, await findExternalBinding(db, id));
}

/** Throws `managed_by_kubernetes`, and `token_used` for what is tied to an account. */
export function requireUnused(row: ExternalBindingRow): void {
  requireChangeable('external_binding', row);
  if (row.acme_key_id !== null) throw tokenUsed(row.acme_key_id);
}

/** The refusal to change, delete or use a token that has made an account. */
export const tokenUsed = (acmeKeyId: string): CaError =>
  new CaError(
    'token_used',
    `This EAB token was used by account key ${formatId('acmk', acmeKeyId)}, so it can no longer be changed, deleted or used; delete that key instead.`,
  );

/** Why a guarded write found no row to change: it is gone, used, not to be changed here, or no longer as it was seen. */
export async function changeRefused(tx: Tx, id: string): Promise<CaError> {
  requireUnused(await requireExternalBinding(tx, id));
  return changedMeanwhile('external_binding');
}

/** Opens the MAC key for callers who may write. Throws `unavailable`. */
export async function externalBindingView(
  ca: Ca,
  caller: Caller,
  row: ExternalBindingRow,
): Promise<ExternalBindingView> {
  return {
    id: row.id,
    directoryId: row.directory_id,
    directoryUrl: directoryUrl(ca.urls, row.slug),
    name: row.name,
    keyId: row.key_id ?? undefined,
    orderValidations: row.order_validations,
    acmeKeyId: row.acme_key_id ?? undefined,
    macKey: mayDo(caller, 'write') ? macKeyText(await openSecret(ca, row.id, row.mac_sealed)) : undefined,
  };
}

/** For the records of changes: fields as /v1 shows them, without the MAC key. */
export const auditedExternalBinding = (
  row: Pick<ExternalBindingRow, 'directory_id' | 'name' | 'key_id' | 'order_validations'>,
) => ({
  directory_id: formatId('dir', row.directory_id),
  name: row.name,
  key_id: row.key_id,
  order_validations: row.order_validations,
});
