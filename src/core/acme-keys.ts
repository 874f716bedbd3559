// Account keys as callers see them: one, a list, and what each of them shows.
import type { AcmeKeyState } from '../lifecycles/acme-key.ts';
import { type AcmeKeyFilter, type AcmeKeyRow, findAcmeKey, listAcmeKeyRows } from '../store/acme-keys.ts';
import type { Db, Tx } from '../store/database.ts';
import { toPem } from '../x509/pem.ts';
import type { Ca } from './ca.ts';
import { CaError } from './errors.ts';
import { formatId } from './ids.ts';
import { changedMeanwhile, found } from './object-kinds.ts';
import type { OrderValidations } from './order-validations.ts';
import { requireChangeable } from './origin.ts';
import { type NameOrId, type Page, type PageRequest, pageOf } from './paging.ts';
import { accountUrl } from './urls.ts';

export type AcmeKeyView = {
  readonly id: string;
  readonly directoryId: string;
  readonly name: string;
  readonly contacts: readonly string[];
  /** PEM. */
  readonly publicKey: string;
  /** RFC 7638, base64url. */
  readonly thumbprint: string;
  readonly kid: string;
  readonly orderValidations: OrderValidations;
  readonly state: AcmeKeyState;
  /** `YYYY-MM-DD`; undefined when it was never used. */
  readonly usedOn: string | undefined;
};

/** An account key by its uuid, whatever its state. Throws `not_found`. */
export async function getAcmeKey(ca: Ca, id: string): Promise<AcmeKeyView> {
  return acmeKeyView(ca, await requireAcmeKey(ca.database.db, id));
}

/** One page of the account keys of a directory, by id or name. Throws `unknown_cursor`. */
export async function listAcmeKeys(
  ca: Ca,
  filter: AcmeKeyFilter,
  page: PageRequest<NameOrId>,
): Promise<Page<AcmeKeyView>> {
  return pageOf(await listAcmeKeyRows(ca.database.db, filter, page), (row) => acmeKeyView(ca, row));
}

/** Throws `not_found`. */
export async function requireAcmeKey(db: Db, id: string): Promise<AcmeKeyRow> {
  return found('acme_key', id, await findAcmeKey(db, id));
}

/** Throws `managed_by_kubernetes`, and `key_not_valid` for an account that has ended. */
export function requireValid(row: AcmeKeyRow): void {
  requireChangeable('acme_key', row);
  if (row.state === 'valid') return;
  const detail = `Account key ${formatId('acmk', row.id)} is ${row.state}; only a valid one can be changed or revoked.`;
  throw new CaError('key_not_valid', detail);
}

/** Why a guarded write found no row to change: it has ended, is not to be changed here, or is no longer as it was seen. */
export async function changeRefused(tx: Tx, id: string): Promise<CaError> {
  requireValid(await requireAcmeKey(tx, id));
  return changedMeanwhile('acme_key');
}

export const acmeKeyView = (ca: Ca, row: AcmeKeyRow): AcmeKeyView => ({
  id: row.id,
  directoryId: row.directory_id,
  name: row.name,
  contacts: row.contacts,
  publicKey: toPem('PUBLIC KEY', row.spki),
  thumbprint: row.thumbprint.toString('base64url'),
  kid: accountUrl(ca.urls, row.slug, row.id),
  orderValidations: row.order_validations,
  state: row.state,
  usedOn: row.used_on ?? undefined,
});

/** For the records of changes: fields as /v1 shows them. */
export const auditedAcmeKey = (
  row: Pick<
    AcmeKeyRow,
    'directory_id' | 'external_binding_id' | 'name' | 'contacts' | 'thumbprint' | 'order_validations' | 'state'
  >,
) => ({
  directory_id: formatId('dir', row.directory_id),
  external_binding_id: row.external_binding_id && formatId('eab', row.external_binding_id),
  name: row.name,
  contacts: row.contacts,
  jwk_thumbprint: row.thumbprint.toString('base64url'),
  order_validations: row.order_validations,
  state: row.state,
});
