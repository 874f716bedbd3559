// The last step of creating a CA cert: its row becomes visible, active with its certificate or pending with its CSR.
import type { Tx } from '../store/database.ts';
import {
  activateSigningCert,
  findSigningCert,
  type SigningCertRow,
  setSigningCertCsr,
  type UnfinishedSigningCert,
} from '../store/signing-certs.ts';
import { parseCertificate } from '../x509/certificate.ts';
import { buildCsr } from '../x509/csr.ts';
import { buildName } from '../x509/name.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import { requestedExtensions } from './ca-certificate.ts';
import type { Actor } from './caller.ts';
import { CaError } from './errors.ts';
import { formatId } from './ids.ts';
import type { StoredKey } from './ports.ts';
import { publishCrls } from './revoke.ts';
import { certificateColumns, signingCertFacts } from './signing-cert-facts.ts';
import { requireLivingChain } from './signing-cert-parent.ts';

/**
 * The row as the key store has it, whoever completes it. Holds the CA certs above it. Throws `conflict` when it was dropped
 * meanwhile, and `cannot_sign` when one above it was revoked.
 */
export async function completeSigningCert(
  ca: Ca,
  actor: Actor,
  pending: UnfinishedSigningCert,
  stored: Pick<StoredKey, 'certificate'>,
): Promise<SigningCertRow> {
  const row =
    (await writeCreation(ca, actor, await completionOf(ca, pending, stored))) ??
    (await findSigningCert(ca.database.db, pending.id, ca.clock.now()));
  if (row === undefined)
    throw new CaError('conflict', 'Making this CA cert took too long and was given up. Try again.');
  return row;
}

/** Writes what makes the row visible, with its audit record. Undefined, and no record, when `write` changes nothing. */
export async function writeCreation<Row extends SigningCertRow | undefined>(
  ca: Ca,
  actor: Actor,
  write: (tx: Tx) => Promise<Row>,
): Promise<Row> {
  const now = ca.clock.now();
  const row = await ca.database.inTransaction(async (tx) => {
    const written = await write(tx);
    if (written === undefined) return written;
    const after = signingCertFacts(written);
    await recordChange(tx, actor, now, { action: 'create', kind: 'signing_cert', id: written.id, after });
    return written;
  });
  if (row !== undefined) ca.events.signingCertCreated({ id: formatId('scrt', row.id), ...signingCertFacts(row) });
  if (row !== undefined) await publishFirstCrl(ca, row);
  return row;
}

/** Relying parties look for the CRL of a CA as soon as they see a certificate below it. Never throws: a sweep makes up for it. */
export async function publishFirstCrl(ca: Ca, { id, key_ref, der }: SigningCertRow): Promise<void> {
  if (key_ref !== null && der !== null) await publishCrls(ca, [id]);
}

/** A key without a certificate is one that waits for a parent elsewhere. */
async function completionOf(
  ca: Ca,
  { id, subject, parent_id: parentId }: UnfinishedSigningCert,
  { certificate }: Pick<StoredKey, 'certificate'>,
): Promise<(tx: Tx) => Promise<SigningCertRow | undefined>> {
  if (certificate !== undefined) {
    const columns = certificateColumns(parseCertificate(certificate));
    return async (tx) => {
      await requireLivingChain(tx, parentId);
      return activateSigningCert(tx, id, columns);
    };
  }
  const fields = { subject: buildName(subject), extensions: requestedExtensions() };
  const csr = await buildCsr(fields, await ca.keys.signer(id));
  return (tx) => setSigningCertCsr(tx, id, csr);
}
