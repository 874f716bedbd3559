// Changing a CA cert: its name, and once the certificate that its CSR asked for. Everything else is as it was made.
import type { SigningCertRow } from '../store/signing-certs.ts';
import { parseCertificate } from '../x509/certificate.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { changeSigningCert } from './change-signing-cert.ts';
import { CaError } from './errors.ts';
import { installCertificate } from './install-certificate.ts';
import { changedMeanwhile } from './object-kinds.ts';
import { requireChangeable } from './origin.ts';
import { changedImmutables, type SigningCertUpdate } from './signing-cert-immutables.ts';
import { nameOfSubject } from './signing-cert-subject.ts';
import { getSigningCert, requireSigningCert, type SingleSigningCertView } from './signing-certs.ts';

/**
 * Renames a CA cert, or completes one that waits for the certificate of its CSR. What is sent as it stands there changes
 * nothing. Throws `not_found`, `managed_by_kubernetes`, `immutable` naming every other field that was to change,
 * `conflict`, and for a certificate what createSigningCert throws.
 */
export async function updateSigningCert(
  ca: Ca,
  actor: Actor,
  id: string,
  sent: SigningCertUpdate,
): Promise<SingleSigningCertView> {
  const row = await requireSigningCert(ca, id);
  const immutables = changedImmutables(row, sent);
  const name = sent.name === undefined ? row.name : (sent.name ?? defaultName(row));
  const pem = row.der === null ? (sent.public_cert ?? undefined) : undefined;
  if (immutables.length > 0 || name !== row.name || pem !== undefined) requireChangeable('signing_cert', row);
  if (immutables.length > 0) {
    const fields = immutables.map(({ field }) => field).join(', ');
    throw new CaError('immutable', `A CA cert keeps ${fields}; leave out what is not to change.`, {
      problems: immutables,
    });
  }
  const isAsWanted =
    pem === undefined
      ? name === row.name || (await changeSigningCert(ca, actor, row, { name })) !== undefined
      : (await installCertificate(ca, actor, row, { pem, name })) !== undefined;
  const view = await getSigningCert(ca, id);
  if (!isAsWanted) throw changedMeanwhile('signing_cert');
  return view;
}

/** As a created one gets it. */
const defaultName = ({ subject, der, name }: SigningCertRow): string =>
  subject.CN ?? (der === null ? name : nameOfSubject(parseCertificate(der).subject));
