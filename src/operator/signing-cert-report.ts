// What is told of a CA cert: in events, in the status, and where it cannot be had.
import type { AppliedAs } from '../core/declared.ts';
import { formatId } from '../core/ids.ts';
import type { DeclaredSigningCertView } from '../core/signing-cert-status.ts';
import type { SigningCertResource } from '../resources/signing-cert-resource.ts';
import type { OperatorContext, Outcome, Visit } from './reconciler.ts';

type CertVisit = Visit<SigningCertResource>;

/** Of a CA cert that is not there yet, that it is not. */
export function refused(visit: CertVisit, outcome: Outcome): Outcome {
  if (outcome.outcome !== 'done' && visit.status.notAfter === undefined)
    visit.condition('Issued', { status: 'False', reason: outcome.reason, message: outcome.message });
  return outcome;
}

/** Before the status says so. */
export function tell({ resource, status, event }: CertVisit, as: AppliedAs, view: DeclaredSigningCertView): void {
  const { name } = view;
  if (as === 'adopted') event({ type: 'Normal', reason: 'Adopted', note: `Took over the CA cert ${name}.` });
  if (as === 'created' && resource.spec.privateKeyType !== undefined)
    event({ type: 'Normal', reason: 'KeyGenerated', note: `Made the ${view.keyType} key of CA cert ${name}.` });
  const { certificate } = view;
  const isAnswer = as === 'updated' && status.publicCert === undefined;
  if (certificate !== undefined && (as === 'created' || isAnswer))
    event({
      type: 'Normal',
      reason: 'CertificateIssued',
      note: `CA cert ${name} holds until ${certificate.notAfter.toISOString()}.`,
    });
  const isDrift = as === 'updated' && !isAnswer && resource.status?.observedGeneration === resource.metadata.generation;
  if (isDrift)
    event({ type: 'Warning', reason: 'DriftCorrected', note: 'The CA cert was not as declared, and is so again.' });
}

export function show({ ca }: OperatorContext, { status }: CertVisit, view: DeclaredSigningCertView): void {
  const { certificate, signingCertId, publicCert, csr, keyRef, revokedAt } = view;
  for (const field of Object.keys(status) as (keyof typeof status)[]) delete status[field];
  Object.assign(status, {
    id: formatId('scrt', view.id),
    keyType: view.keyType,
    ...(signingCertId !== undefined && { signingCertId: formatId('scrt', signingCertId) }),
    ...(publicCert === undefined ? { csr } : { publicCert }),
    ...(keyRef !== undefined && { secretName: ca.keys.nameOf(keyRef) }),
    ...(revokedAt !== undefined && { revokedAt: revokedAt.toISOString() }),
    ...(certificate !== undefined && {
      subject: certificate.subject,
      serial: certificate.serial,
      fingerprint: certificate.fingerprint,
      notBefore: certificate.notBefore.toISOString(),
      notAfter: certificate.notAfter.toISOString(),
    }),
  });
}
