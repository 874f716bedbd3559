// CA certs as callers see them: one, a list, and what each of them shows.
import { type RevocationReason, reasonNumbered } from '../resources/revocation-reasons.ts';
import type { SigningCertUsers } from '../store/signing-cert-users.ts';
import {
  findSigningCert,
  listSigningCertRows,
  type SigningCertFilter,
  type SigningCertRow,
} from '../store/signing-certs.ts';
import type { NameConstraints, Subject } from '../store/tables.ts';
import { certificatePem } from '../x509/certificate-pem.ts';
import type { Ca } from './ca.ts';
import { found } from './object-kinds.ts';
import { type Page, type PageRequest, pageOf } from './paging.ts';

export type SigningCertView = {
  readonly id: string;
  readonly certType: SigningCertRow['cert_type'];
  readonly keyAvailability: SigningCertRow['key_availability'];
  readonly keyType: SigningCertRow['key_type'];
  readonly name: string;
  /** PEM; undefined while a CSR waits for it. */
  readonly publicCert: string | undefined;
  readonly expiresAt: Date | undefined;
  readonly signingCertId: string | undefined;
  readonly subject: Subject;
  readonly pathLength: number | undefined;
  readonly nameConstraints: NameConstraints | undefined;
  readonly revokedAt: Date | undefined;
  readonly revokeReason: RevocationReason | undefined;
};

/** As it is shown alone. */
export type SingleSigningCertView = SigningCertView & { readonly inUse: boolean };

/** A CA cert by its uuid. Throws `not_found`, also for one that is still being made. */
export async function getSigningCert(ca: Ca, id: string): Promise<SingleSigningCertView> {
  const row = await requireSigningCert(ca, id);
  return { ...signingCertView(row), inUse: isInUse(row) };
}

/** One page of CA certs by id. Throws `unknown_cursor`. */
export async function listSigningCerts(
  ca: Ca,
  filter: SigningCertFilter,
  page: PageRequest,
): Promise<Page<SigningCertView>> {
  return pageOf(await listSigningCertRows(ca.database.db, filter, page), signingCertView);
}

/** With what depends on it. Throws `not_found`, also for one that is still being made. */
export async function requireSigningCert(ca: Ca, id: string): Promise<SigningCertRow & SigningCertUsers> {
  return found('signing_cert', id, await findSigningCert(ca.database.db, id, ca.clock.now()));
}

const isInUse = (users: SigningCertUsers): boolean =>
  users.has_children || users.has_directories || users.has_orders || users.has_leaves;

export const signingCertView = (row: SigningCertRow): SigningCertView => ({
  id: row.id,
  certType: row.cert_type,
  keyAvailability: row.key_availability,
  keyType: row.key_type,
  name: row.name,
  publicCert: row.der === null ? undefined : certificatePem(row.der),
  expiresAt: row.not_after ?? undefined,
  signingCertId: row.parent_id ?? undefined,
  subject: row.subject,
  pathLength: row.path_length ?? undefined,
  nameConstraints: row.name_constraints ?? undefined,
  revokedAt: row.revoked_at ?? undefined,
  revokeReason: row.reason === null ? undefined : reasonNumbered(row.reason),
});
