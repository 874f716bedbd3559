// The certificate that a CSR asked for comes from the parent elsewhere and completes its CA cert.
import { activateSigningCert, lockSigningCert, type SigningCertRow } from '../store/signing-certs.ts';
import { parseCsr } from '../x509/csr.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { publishFirstCrl } from './complete-signing-cert.ts';
import { FieldProblems } from './field-problems.ts';
import { formatId } from './ids.ts';
import { checkCaCertificate, readCertificateField } from './import-signing-cert.ts';
import { certificateColumns, signingCertFacts } from './signing-cert-facts.ts';
import { shareParentOf } from './signing-cert-parent.ts';

/** Undefined when somebody else was faster. Throws `invalid` with all problems of the certificate. */
export async function installCertificate(
  ca: Ca,
  actor: Actor,
  seen: SigningCertRow,
  { pem, name }: { readonly pem: string; readonly name: string },
): Promise<SigningCertRow | undefined> {
  const { id, version, csr } = seen;
  const now = ca.clock.now();
  const problems = new FieldProblems();
  const certificate = await readCertificateField(pem, problems);
  if (certificate !== undefined) await checkCaCertificate(certificate, seen.cert_type, problems, now);
  if (certificate !== undefined && csr !== null && !certificate.spki.equals(parseCsr(csr).spki)) {
    const message = 'The certificate is not for the key of this CA cert; have the CSR of this CA cert signed.';
    problems.add({ field: 'public_cert', code: 'key_mismatch', message });
  }
  problems.refuse();
  if (certificate === undefined) return undefined;
  const row = await ca.database.inTransaction(async (tx) => {
    const parentId = (await shareParentOf(tx, certificate)) ?? null;
    const locked = await lockSigningCert(tx, id);
    if (locked?.version !== version) return undefined;
    const columns = { ...certificateColumns(certificate), parent_id: parentId, name, version: version + 1 };
    const active = await activateSigningCert(tx, id, columns);
    if (active === undefined) return undefined;
    const change = { before: signingCertFacts(seen), after: signingCertFacts(active) };
    await recordChange(tx, actor, now, { action: 'update', kind: 'signing_cert', id, ...change });
    return active;
  });
  if (row !== undefined) ca.events.signingCertCompleted({ id: formatId('scrt', id), ...signingCertFacts(row) });
  if (row !== undefined) await publishFirstCrl(ca, row);
  return row;
}
