// Revoking issued certificates, by whichever door it is asked for: the rows, their place on the CRL, blocked keys, records.
import { type RevocationReason, revocationReasons } from '../resources/revocation-reasons.ts';
import { markCrls } from '../store/crls.ts';
import type { Tx } from '../store/database.ts';
import { type CertSelection, insertRevocations, type RevokedCert, revokeLiveCerts } from '../store/revocations.ts';
import { blockKeys } from '../store/used-keys.ts';
import { crlEntry, crlReasons } from '../x509/crl.ts';
import { recordChanges } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';

export type Revoked = {
  readonly reason: RevocationReason;
  readonly ids: readonly string[];
  readonly signingCertIds: readonly string[];
};

type Options = {
  /** Of `key_compromise`: whether the keys are blocked, for ever. Not for who has shown no right to the key. */
  readonly blocksKeys?: boolean;
};

/** Of one statement: a whole account may have a hundred thousand. */
const BATCH = 1000;
/** Revocations that come within this time share one CRL. */
const CRL_DELAY_MS = 200;

/**
 * Revokes the selected certificates that are neither revoked nor expired, in the caller's transaction, which calls
 * publishRevocations after its commit. `key_compromise` blocks their keys for ever (REV-8) unless told otherwise. Locks the certificates.
 */
export async function revokeIssuedCerts(
  tx: Tx,
  actor: Actor,
  selection: CertSelection,
  reason: RevocationReason,
  now: Date,
  { blocksKeys = true }: Options = {},
): Promise<Revoked> {
  const ids: string[] = [];
  const signingCertIds = new Set<string>();
  for (;;) {
    const certs = await revokeLiveCerts(tx, selection, { reason: numberOf(reason), now, limit: BATCH });
    if (certs.length > 0) await followUp(tx, actor, certs, reason, now);
    if (certs.length > 0 && blocksKeys && reason === 'key_compromise') await blockKeys(tx, certs.map(keyOf), now);
    for (const { id, signing_cert_id } of certs) {
      ids.push(id);
      signingCertIds.add(signing_cert_id);
    }
    if (certs.length < BATCH) return { reason, ids, signingCertIds: [...signingCertIds] };
  }
}

/** Has the CRLs built anew soon. Never throws. */
export async function publishRevocations(ca: Ca, { reason, ids, signingCertIds }: Revoked): Promise<void> {
  if (ids.length === 0) return;
  ca.events.certsRevoked({ reason, count: ids.length });
  await publishCrls(ca, signingCertIds);
}

/** The same of these CAs. Never throws: the revocations are committed, and a sweep finds CRLs that lack them. */
export async function publishCrls(ca: Ca, signingCertIds: readonly string[]): Promise<void> {
  const now = ca.clock.now();
  try {
    await markCrls(ca.database.db, signingCertIds, now, new Date(now.getTime() + CRL_DELAY_MS));
  } catch (error) {
    ca.events.crlMarkFailed({ signingCertIds, error });
  }
}

async function followUp(
  tx: Tx,
  actor: Actor,
  certs: readonly RevokedCert[],
  reason: RevocationReason,
  now: Date,
): Promise<void> {
  const revocations = certs.map((cert) => revocationOf(cert, reason, now));
  await insertRevocations(tx, revocations);
  const changes = certs.map(({ id }) => changeOf(id, reason));
  await recordChanges(tx, actor, now, changes);
}

const keyOf = ({ key_thumbprint }: RevokedCert): Buffer => key_thumbprint;

const numberOf = (reason: RevocationReason) => revocationReasons[reason].number;

const revocationOf = ({ signing_cert_id, serial, not_after }: RevokedCert, reason: RevocationReason, now: Date) => ({
  signing_cert_id,
  serial,
  revoked_at: now,
  changed_at: now,
  not_after,
  entry: crlEntry(serial, now, crlReasons[numberOf(reason)]),
});

const changeOf = (id: string, reason: RevocationReason) =>
  ({
    action: 'revoke',
    kind: 'issued_cert',
    id,
    before: { state: 'valid', revoke_reason: null },
    after: { state: 'revoked', revoke_reason: reason },
  }) as const;
