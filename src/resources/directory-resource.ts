// Directory: an ACME server with its policy as a custom resource.
import { described, type Static, setOf } from '../schema/define.ts';
import { camelCaseTwins, twinOf } from './camel-case.ts';
import { type CreateInput, createOnly, writable } from './field.ts';
import { directoryFields } from './fields.ts';
import { column, defineKind, eachOnce, wideColumn } from './kind.ts';
import type { Resource } from './resource.ts';
import { allowedNamespaces, allowedNamespacesRules, deletionPolicy, reference } from './spec-parts.ts';
import { shown, statusShape } from './status-parts.ts';

const spec = {
  slug: createOnly(
    'optional',
    described(twinOf(directoryFields.slug), 'Part of the ACME URL; metadata.name when absent.'),
  ),
  name: writable('optional', described(twinOf(directoryFields.name), 'Display name; metadata.name when absent.')),
  signingCertRef: writable(
    'required',
    reference('Online intermediate SigningCert that signs; another one is a rollover.'),
  ),
  ...camelCaseTwins(
    directoryFields,
    'allowed_dns_identifiers',
    'allowed_ip_identifiers',
    'caa_tag',
    'cert_min_days',
    'cert_max_days',
    'on_missing_caa',
    'registration_mode',
    'profiles',
    'allowed_key_types',
    'terms_of_service',
    'website',
    'rollover_days',
  ),
  // Only where the usual value is empty: in a set, server-side apply would leave the values of a default standing.
  remoteIpWhitelist: writable('default', setOf(twinOf(directoryFields.remote_ip_whitelist))),
  allowedNamespaces,
  deletionPolicy: deletionPolicy('Delete', 'Whether the directory goes with this object, or serves on.'),
};

const status = statusShape({
  id: shown('Id in /v1.'),
  slug: shown('Part of the ACME URL.'),
  directoryUrl: shown('ACME directory URL.', 4_096),
  signingCertId: shown('Id of the CA cert that signs.'),
  caaTag: shown('Issuer domain that CAA records must name.'),
  configMapName: shown('ConfigMap with the URL and the certificates to trust.'),
});

export type DirectorySpec = CreateInput<typeof spec>;
export type DirectoryStatus = Static<typeof status>;
export type DirectoryResource = Resource<'Directory', DirectorySpec, DirectoryStatus>;

export const directoryKind = defineKind({
  kind: 'Directory',
  plural: 'directories',
  singular: 'directory',
  shortName: 'acmedir',
  description: 'An ACME server with a policy of its own.',
  spec,
  status,
  rules: [
    {
      asked: 'always',
      cel: 'self.certMinDays <= self.certMaxDays',
      message: 'certMinDays must not be above certMaxDays',
      field: 'certMinDays',
      reason: 'FieldValueInvalid',
      holds: (self) => self.certMinDays <= self.certMaxDays,
    },
    eachOnce('profiles'),
    eachOnce('allowedKeyTypes'),
    ...allowedNamespacesRules,
  ],
  columns: [
    column('SigningCert', '.spec.signingCertRef.name'),
    column('URL', '.status.directoryUrl'),
    wideColumn('EAB', '.spec.registrationMode'),
  ],
  selectable: ['signingCertRef.name'],
});
