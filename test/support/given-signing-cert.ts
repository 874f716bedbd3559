// CA certs for tests, made by the core as /v1 makes them.
import type { Ca } from '../../src/core/ca.ts';
import { createSigningCert } from '../../src/core/create-signing-cert.ts';
import type { SingleSigningCertView } from '../../src/core/signing-certs.ts';
import type { SigningCertInput } from '../../src/resources/signing-cert-variants.ts';
import { admin } from './given.ts';

type Wanted = Partial<SigningCertInput>;

/** An online root, unless said otherwise. */
export const givenRoot = (ca: Ca, wanted: Wanted = {}): Promise<SingleSigningCertView> =>
  givenSigningCert(ca, { cert_type: 'root', name: 'Corp Root', ...wanted });

/** An online intermediate below `parent`, or below a root of its own. */
export async function givenIntermediate(
  ca: Ca,
  { parent, ...wanted }: Wanted & { readonly parent?: { readonly id: string } } = {},
): Promise<SingleSigningCertView> {
  const { id } = parent ?? (await givenRoot(ca));
  return givenSigningCert(ca, { cert_type: 'intermediate', name: 'Corp Issuing', signing_cert_id: id, ...wanted });
}

/** Whatever is asked for; the key is generated here and of type ec_256 where nothing else is said. */
export const givenSigningCert = (ca: Ca, wanted: Wanted & Pick<SigningCertInput, 'cert_type'>) =>
  createSigningCert(ca, admin, { key_availability: 'online', private_key_type: 'ec_256', ...wanted });
