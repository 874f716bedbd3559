// The spec of a SigningCert in the words of the core.
import type { DeclaredSigningCert } from '../core/declared-signing-cert.ts';
import type { SigningCertResource, SigningCertSpec } from '../resources/signing-cert-resource.ts';

/** A certificate that was made elsewhere, and its key where that comes along. */
type Material = { readonly public_cert: string; readonly private_key?: string };

export type Found = {
  /** A uuid. */
  readonly parentId?: string | undefined;
  readonly material?: Material | undefined;
};

export function wantedSigningCert(
  { metadata, spec }: Pick<SigningCertResource, 'metadata' | 'spec'>,
  { parentId, material }: Found,
): DeclaredSigningCert {
  const { privateKeyType, publicCert, subject, validDays, pathLength, nameConstraints } = spec;
  return {
    cert_type: spec.certType,
    key_availability: spec.keyAvailability,
    name: spec.name ?? metadata.name,
    ...(parentId !== undefined && { signing_cert_id: parentId }),
    ...(privateKeyType !== undefined && { private_key_type: privateKeyType }),
    ...(publicCert !== undefined && { public_cert: publicCert }),
    ...(subject !== undefined && { subject }),
    ...(validDays !== undefined && { valid_days: validDays }),
    ...(pathLength !== undefined && { path_length: pathLength }),
    ...(nameConstraints !== undefined && { name_constraints: constraintsOf(nameConstraints) }),
    ...material,
  };
}

/** The first certificate of a file that may hold a chain, as Secrets of kubernetes.io/tls do. */
export const firstCertificate = (pem: string): string =>
  /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/.exec(pem)?.[0] ?? pem;

const constraintsOf = ({
  permittedDns,
  excludedDns,
  permittedIp,
  excludedIp,
}: NonNullable<SigningCertSpec['nameConstraints']>) => ({
  ...(permittedDns !== undefined && { permitted_dns: permittedDns }),
  ...(excludedDns !== undefined && { excluded_dns: excludedDns }),
  ...(permittedIp !== undefined && { permitted_ip: permittedIp }),
  ...(excludedIp !== undefined && { excluded_ip: excludedIp }),
});
