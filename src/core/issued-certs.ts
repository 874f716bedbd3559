// Issued certs as callers see them: one, a list, and what an administrator may do to one.
import { type RevocationReason, reasonNumbered } from '../resources/revocation-reasons.ts';
import { formatSeconds } from '../schema/timestamp.ts';
import type { Db } from '../store/database.ts';
import {
  findIssuedCert,
  type IssuedCertFilter,
  type IssuedCertRow,
  listIssuedCertRows,
  type StoredCertRow,
} from '../store/issued-certs.ts';
import { certificatePem } from '../x509/certificate-pem.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { chainOf } from './chains.ts';
import { CaError } from './errors.ts';
import { formatId } from './ids.ts';
import { found } from './object-kinds.ts';
import { type Page, type PageRequest, pageOf } from './paging.ts';
import { publishRevocations, revokeIssuedCerts } from './revoke.ts';

export type { IssuedCertFilter };

export type IssuedCertView = {
  readonly id: string;
  readonly acmeKeyId: string;
  readonly directoryId: string;
  readonly orderId: string;
  readonly signingCertId: string;
  readonly expiresAt: Date;
  readonly state: 'valid' | 'expired' | 'revoked';
  readonly revokeReason: RevocationReason | undefined;
  /** In the order of the certificate. */
  readonly subjects: readonly string[];
};

/** With its certificate, in PEM. */
export type SingleIssuedCertView = IssuedCertView & { readonly publicCert: string };

/** An issued cert by its uuid, and the PEM of the intermediates above it, issuer first. Throws `not_found`. */
export async function getIssuedCert(
  ca: Ca,
  id: string,
): Promise<SingleIssuedCertView & { readonly certChain: readonly string[] }> {
  const { db } = ca.database;
  const row = await requireIssuedCert(db, id);
  const { intermediatePems } = await chainOf(db, row.signing_cert_id);
  return { ...singleView(row, ca.clock.now()), certChain: intermediatePems };
}

/** One page, by expiry where the filter speaks of it, else by id. One of the three ids is given. Throws `unknown_cursor`. */
export async function listIssuedCerts(
  ca: Ca,
  filter: IssuedCertFilter,
  page: PageRequest,
): Promise<Page<IssuedCertView>> {
  const now = ca.clock.now();
  return pageOf(await listIssuedCertRows(ca.database.db, filter, page, now), (row) => issuedCertView(row, now));
}

/**
 * Revokes for an administrator. `key_compromise` also blocks the key. Locks the certificate; of several at once one
 * succeeds. Throws `not_found`, `already_revoked` and `expired`.
 */
export async function revokeIssuedCert(
  ca: Ca,
  actor: Actor,
  id: string,
  reason: RevocationReason,
): Promise<SingleIssuedCertView> {
  const now = ca.clock.now();
  const revoked = await ca.database.inTransaction((tx) => revokeIssuedCerts(tx, actor, { id }, reason, now));
  await publishRevocations(ca, revoked);
  const row = await requireIssuedCert(ca.database.db, id);
  if (revoked.ids.length === 0) throw notRevocable(row);
  return singleView(row, now);
}

/** By its uuid, with certificate and serial number. Throws `not_found`. */
export async function requireIssuedCert(db: Db, id: string): Promise<StoredCertRow> {
  return found('issued_cert', id, await findIssuedCert(db, id));
}

/** Time moves no row: a valid one past its end has expired. */
export const issuedCertView = (row: IssuedCertRow, now: Date): IssuedCertView => ({
  id: row.id,
  acmeKeyId: row.acme_key_id,
  directoryId: row.directory_id,
  orderId: row.order_id,
  signingCertId: row.signing_cert_id,
  expiresAt: row.not_after,
  state: row.state === 'valid' && row.not_after <= now ? 'expired' : row.state,
  revokeReason: row.reason === null ? undefined : reasonNumbered(row.reason),
  subjects: row.subjects,
});

const singleView = (row: StoredCertRow, now: Date): SingleIssuedCertView => ({
  ...issuedCertView(row, now),
  publicCert: certificatePem(row.der),
});

function notRevocable({ id, state, not_after }: StoredCertRow): CaError {
  const name = `Issued cert ${formatId('icrt', id)}`;
  return state === 'revoked'
    ? new CaError('already_revoked', `${name} is revoked already; a revocation is never changed.`)
    : new CaError('expired', `${name} expired at ${formatSeconds(not_after)}; there is nothing left to revoke.`);
}
