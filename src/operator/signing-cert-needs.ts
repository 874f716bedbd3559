// What a SigningCert needs while its CA cert is not there yet.
import type { SigningCertResource } from '../resources/signing-cert-resource.ts';
import type { OperatorContext, Outcome, Visit } from './reconciler.ts';
import { rowOf } from './referee-row.ts';
import { referee } from './references.ts';
import { type Found, firstCertificate } from './signing-cert-spec.ts';
import { readUserSecret } from './user-secret.ts';

type CertVisit = Visit<SigningCertResource>;
type Missing = { readonly outcome?: Outcome | undefined };

/** The uuid of the parent, ready and permitted. */
export async function parentOf(
  operator: OperatorContext,
  { resource }: CertVisit,
): Promise<Missing & Pick<Found, 'parentId'>> {
  const { signingCertRef: reference } = resource.spec;
  if (reference === undefined) return {};
  const { found, outcome } = referee<SigningCertResource>(operator, resource, 'SigningCert', reference);
  if (outcome !== undefined) return { outcome };
  const { id: parentId, outcome: missing } = await rowOf(operator, found);
  return missing === undefined ? { parentId } : { outcome: missing };
}

/** What the Secret of an import holds. */
export async function materialOf(
  operator: OperatorContext,
  visit: CertVisit,
): Promise<Missing & Pick<Found, 'material'>> {
  const { import: imported, keyAvailability } = visit.resource.spec;
  if (imported === undefined) return {};
  const isOnline = keyAvailability === 'online';
  const { texts, outcome } = await readUserSecret(operator, visit, imported.secretRef, {
    public_cert: ['tls.crt'],
    private_key: isOnline ? ['tls.key'] : ['tls.crt'],
  });
  if (outcome !== undefined) return { outcome };
  const { public_cert: certificate, private_key } = texts;
  return { material: { public_cert: firstCertificate(certificate), ...(isOnline && { private_key }) } };
}
