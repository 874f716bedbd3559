// The spec of a Directory in the words of the core.
import { isAnnotated } from '../resources/annotations.ts';
import type { DirectoryResource } from '../resources/directory-resource.ts';
import type { DirectoryCreate } from '../resources/fields.ts';

export const slugOf = ({ metadata, spec }: Pick<DirectoryResource, 'metadata' | 'spec'>): string =>
  spec.slug ?? metadata.name;

/** `signingCertId` is a uuid. */
export function wantedDirectory(resource: DirectoryResource, signingCertId: string): DirectoryCreate {
  const { metadata, spec } = resource;
  const { caaTag, termsOfService, website } = spec;
  return {
    name: spec.name ?? metadata.name,
    slug: slugOf(resource),
    signing_cert_id: signingCertId,
    allowed_dns_identifiers: spec.allowedDnsIdentifiers,
    allowed_ip_identifiers: spec.allowedIpIdentifiers,
    cert_min_days: spec.certMinDays,
    cert_max_days: spec.certMaxDays,
    on_missing_caa: spec.onMissingCaa,
    registration_mode: spec.registrationMode,
    remote_ip_whitelist: spec.remoteIpWhitelist,
    profiles: spec.profiles,
    allowed_key_types: spec.allowedKeyTypes,
    rollover_days: spec.rolloverDays,
    ...(caaTag !== undefined && { caa_tag: caaTag }),
    ...(termsOfService !== undefined && { terms_of_service: termsOfService }),
    ...(website !== undefined && { website }),
    ...(isAnnotated(resource, 'reuseSlug') && { reuse_slug: true }),
  };
}
