// Every field of every /v1 resource, once: bounds, default, sentence, and when it may be sent and is shown.
import { acmeKeyLifecycle } from '../lifecycles/acme-key.ts';
import { statesOf } from '../lifecycles/lifecycle.ts';
import { orderLifecycle } from '../lifecycles/order.ts';
import { closed, described, listOf, nullable, oneOf, type TSchema, Type } from '../schema/define.ts';
import {
  addressRange,
  addressRanges,
  contactUri,
  date,
  dnsName,
  dnsPatterns,
  dnsSubtree,
  httpUrl,
  integer,
  keyId,
  objectName,
  pemText,
  resourceId,
  secretPemText,
  slug,
  timestamp,
} from '../schema/fragments.ts';
import { type CreateInput, createOnly, inputOnly, inputReader, readOnly, type UpdateInput, writable } from './field.ts';
import { revocationReasonNames, revocationReasonNumbers } from './revocation-reasons.ts';

export const certTypes = ['intermediate', 'root'] as const;
const keyAvailabilities = ['offline', 'online'] as const;
const caKeyTypes = ['ec_256', 'ec_384', 'ec_521', 'rsa_2048', 'rsa_3072', 'rsa_4096'] as const;
export const leafKeyTypes = [...caKeyTypes, 'ed25519'] as const;
export const profileNames = ['server', 'client', 'mtls'] as const;
const registrationModes = ['preregister', 'open'] as const;
export const issuedCertStates = ['valid', 'expired', 'revoked'] as const;
export const orderStates = statesOf(orderLifecycle);
export const acmeKeyStates = statesOf(acmeKeyLifecycle);

export type CertType = (typeof certTypes)[number];
export type KeyAvailability = (typeof keyAvailabilities)[number];
export type LeafKeyType = (typeof leafKeyTypes)[number];
export type ProfileName = (typeof profileNames)[number];
export type AcmeKeyState = (typeof acmeKeyStates)[number];

const RANGES = 500;
const CHAIN = 10;

const id = (prefix: string) => readOnly(described(resourceId(prefix), 'The id of this resource.'));
const object = <const N extends string>(name: N) => readOnly(described(oneOf([name]), 'The kind of this resource.'));
const idOf = (prefix: string, description: string) => described(resourceId(prefix), description);
/** Text that is only shown: stored values may be longer than what input takes today. */
const shownText = (description: string) => Type.String({ description });
const shownPemList = (description: string) => Type.Array(Type.String(), { maxItems: CHAIN, description });
const orNull = (schema: TSchema, description: string) => described(nullable(schema), description);

const subjectPart = (maxLength: number, description: string) =>
  Type.Optional(described(objectName, description, { maxLength }));
const subject = closed(
  {
    CN: subjectPart(64, 'Common name; the name of the CA cert when absent.'),
    O: subjectPart(64, 'Organization; the name of the CA cert when absent.'),
    OU: subjectPart(64, 'Organizational unit.'),
    L: subjectPart(128, 'Locality.'),
    ST: subjectPart(128, 'State or province.'),
    C: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        format: 'country-code',
        maxLength: 2,
        pattern: '^[A-Z]{2}$',
        description: 'Country code.',
      }),
    ),
  },
  { description: 'Subject of a generated CA cert.' },
);
const shownSubject = Type.Unsafe<Record<string, string>>({
  type: ['object', 'null'],
  additionalProperties: { type: 'string' },
  description: 'Subject of the certificate.',
});

const subtrees = (description: string) => Type.Optional(listOf(dnsSubtree, 100, { description }));
const subranges = (description: string) => Type.Optional(listOf(addressRange, 100, { description }));
const nameConstraints = closed(
  {
    permitted_dns: subtrees('Domains below which all DNS names must lie.'),
    excluded_dns: subtrees('Domains below which no DNS name may lie.'),
    permitted_ip: subranges('Ranges in which all IP addresses must lie.'),
    excluded_ip: subranges('Ranges in which no IP address may lie.'),
  },
  { description: 'Which names certificates below this CA may hold (RFC 5280 section 4.2.1.10).' },
);

export const revocationReasonFields = {
  reason: Type.Optional(
    Type.Unsafe<number>({ type: 'integer', enum: revocationReasonNumbers, description: 'Number of the reason.' }),
  ),
  revoke_reason: Type.Optional(oneOf(revocationReasonNames, { description: 'Name of the reason.' })),
};
const shownReason = readOnly(orNull(oneOf(revocationReasonNames), 'Why it was revoked; null when it is not.'));

/** A caller may write `auto_approved`, which is stored and shown as `auto_approve`. */
const orderValidations = ['challenge', 'auto_approve'] as const;
const orderValidationsField = writable(
  'default',
  oneOf([...orderValidations, 'auto_approved'], {
    default: 'challenge',
    description: 'Whether orders are validated by challenge or approved at once; auto_approved means auto_approve.',
  }),
  { reply: oneOf(orderValidations, { description: 'Whether orders are validated by challenge or approved at once.' }) },
);
const optionalName = writable('optional', orNullName('Display name.'), { reply: nullableText('Display name.') });
const chain = (description: string) => readOnly(shownPemList(description), 'single');

export const signingCertFields = {
  id: id('scrt'),
  object: object('signing_cert'),
  cert_type: createOnly('required', oneOf(certTypes, { description: 'Whether this is a root or an intermediate.' })),
  key_availability: createOnly(
    'required',
    oneOf(keyAvailabilities, { description: 'Whether the private key is held here (online) or elsewhere (offline).' }),
  ),
  key_type: readOnly(oneOf(caKeyTypes, { description: 'Type of the key.' })),
  private_key_type: inputOnly('optional', oneOf(caKeyTypes, { description: 'Type of the key to generate.' })),
  private_key: inputOnly('optional', secretPemText(16_384)),
  public_cert: writable('optional', orNullPem('Certificate in PEM; null while a CSR waits for it.'), {
    reply: nullableText('Certificate in PEM; null while a CSR waits for it.'),
  }),
  name: optionalName,
  expires_at: readOnly(orNull(timestamp, 'End of the certificate; null while a CSR waits for one.')),
  signing_cert_id: createOnly('optional', nullable(idOf('scrt', 'The CA cert that signs this one; null for a root.'))),
  in_use: readOnly(
    Type.Boolean({ description: 'True while something depends on it, so that it cannot be deleted.' }),
    'single',
  ),
  subject: createOnly('optional', nullable(subject), { reply: shownSubject }),
  valid_days: inputOnly('optional', described(integer(1, 36_500), 'Days that a generated certificate lives.')),
  path_length: createOnly(
    'optional',
    nullable(described(integer(0, 10), 'CA certs that may stand below; null for no limit.')),
    {
      reply: orNull(Type.Integer(), 'CA certs that may stand below; null for no limit.'),
    },
  ),
  name_constraints: createOnly('optional', nullable(nameConstraints), {
    reply: Type.Unsafe<unknown>({ type: ['object', 'null'], description: 'Which names certificates below may hold.' }),
  }),
  revoked_at: readOnly(orNull(timestamp, 'When it was revoked; null when it is not.')),
  revoke_reason: shownReason,
};

export const directoryFields = {
  id: id('dir'),
  object: object('directory'),
  name: writable('required', described(objectName, 'Name.')),
  slug: writable('required', described(slug, 'Part of the ACME URL.')),
  signing_cert_id: writable('required', idOf('scrt', 'Online intermediate CA cert that signs new certificates.')),
  directory_url: readOnly(shownText('ACME directory URL.')),
  allowed_dns_identifiers: writable(
    'default',
    described(dnsPatterns(RANGES), 'DNS patterns that names of new orders must match.', { default: ['**'] }),
  ),
  allowed_ip_identifiers: writable(
    'default',
    described(addressRanges(RANGES), 'Ranges that IP addresses of new orders must lie in.', {
      default: ['0.0.0.0/0', '::/0'],
    }),
  ),
  caa_tag: writable(
    'optional',
    described(dnsName, 'Issuer domain that CAA records must name; set by the service when absent.'),
  ),
  cert_min_days: writable('default', days('Shortest validity of a new certificate, in days; 0 for no lower bound.', 2)),
  cert_max_days: writable('default', days('Longest validity of a new certificate, in days.', 97)),
  on_missing_caa: writable(
    'default',
    oneOf(['pass', 'fail'], { default: 'pass', description: 'Result when no CAA record exists up to the root.' }),
  ),
  registration_mode: writable(
    'default',
    oneOf(registrationModes, {
      default: 'preregister',
      description: 'Whether accounts need an EAB token or a registered key.',
    }),
  ),
  remote_ip_whitelist: writable(
    'default',
    described(addressRanges(RANGES), 'Ranges that may use the directory; empty for all.', { default: [] }),
  ),
  profiles: writable(
    'default',
    listOf(oneOf(profileNames), profileNames.length, {
      minItems: 1,
      uniqueItems: true,
      default: ['server'],
      description: 'Certificate profiles; the first is the default.',
    }),
  ),
  allowed_key_types: writable(
    'default',
    listOf(oneOf(leafKeyTypes), leafKeyTypes.length, {
      minItems: 1,
      uniqueItems: true,
      default: [...caKeyTypes],
      description: 'Key types that certificates may have.',
    }),
  ),
  terms_of_service: writable('optional', nullable(described(httpUrl, 'URL of the terms that accounts agree to.'))),
  website: writable('optional', nullable(described(httpUrl, 'URL of a page about this directory.'))),
  rollover_days: writable(
    'default',
    described(integer(0, 365, { default: 7 }), 'Days over which renewals are spread after a change of CA; 0 for none.'),
  ),
  reuse_slug: writable('optional', Type.Boolean({ description: 'Takes the slug of a deleted directory.' }), {
    shown: 'never',
  }),
  cert_chain: chain('Intermediate certificates in PEM, issuer first.'),
  root_cert: readOnly(orNull(shownText(''), 'Root certificate in PEM; null where it is unknown.'), 'single'),
};

export const externalBindingFields = {
  id: id('eab'),
  object: object('external_binding'),
  directory_id: createOnly('required', idOf('dir', 'Directory the token belongs to.')),
  name: optionalName,
  order_validations: orderValidationsField,
  key_id: createOnly('optional', nullable(described(keyId, 'ACME key id of the token; its id when null.'))),
  acme_key_id: readOnly(orNull(resourceId('acmk'), 'Account key made with this token; null while unused.')),
  mac_key: readOnly(shownText('MAC key, base64url; only for callers who may write.'), 'sometimes'),
  directory_url: readOnly(shownText('ACME directory URL.'), 'single'),
};

export const acmeKeyFields = {
  id: id('acmk'),
  object: object('acme_key'),
  directory_id: createOnly('required', idOf('dir', 'Directory the account belongs to.')),
  name: optionalName,
  contacts: writable('default', listOf(contactUri, 10, { default: [], description: 'Contact URIs.' }), {
    reply: Type.Array(Type.String(), { description: 'Contact URIs.' }),
  }),
  public_key: writable('required', described(pemText(8_192), 'Public key in PEM (SPKI).')),
  jwk_thumbprint: readOnly(shownText('Thumbprint of the key (RFC 7638).')),
  kid: readOnly(shownText('ACME key id: the URL of the account.')),
  order_validations: orderValidationsField,
  state: readOnly(oneOf(acmeKeyStates, { description: 'State of the account.' })),
  used_on: readOnly(orNull(date, 'Day of the last use; null when never used.')),
};

export const issuedCertFields = {
  id: id('icrt'),
  object: object('issued_cert'),
  acme_key_id: readOnly(idOf('acmk', 'Account key that ordered it.')),
  directory_id: readOnly(idOf('dir', 'Directory it was ordered in.')),
  order_id: readOnly(idOf('ordr', 'Order it came from.')),
  signing_cert_id: readOnly(idOf('scrt', 'Intermediate CA cert that signed it.')),
  expires_at: readOnly(described(timestamp, 'End of the certificate.')),
  state: readOnly(oneOf(issuedCertStates, { description: 'State of the certificate.' })),
  revoke_reason: shownReason,
  subjects: readOnly(
    Type.Array(Type.String(), { description: 'DNS names and IP addresses, in the order of the certificate.' }),
  ),
  public_cert: readOnly(shownText('Certificate in PEM.'), 'single'),
  cert_chain: readOnly(shownPemList('Intermediate certificates in PEM, issuer first.'), 'sometimes'),
};

export const orderFields = {
  id: id('ordr'),
  object: object('order'),
  acme_key_id: readOnly(idOf('acmk', 'Account key that made the order.')),
  directory_id: readOnly(idOf('dir', 'Directory of the order.')),
  created_at: readOnly(described(timestamp, 'When the order was made, with milliseconds.')),
  expires_at: readOnly(described(timestamp, 'End of the order, with milliseconds.')),
  dns_identifiers: readOnly(Type.Array(Type.String(), { description: 'DNS names.' })),
  ip_identifiers: readOnly(Type.Array(Type.String(), { description: 'IP addresses.' })),
  not_before: readOnly(orNull(timestamp, 'Requested begin of the certificate.')),
  not_after: readOnly(orNull(timestamp, 'Requested end of the certificate.')),
  state: readOnly(oneOf(orderStates, { description: 'State of the order.' })),
};

export type DirectoryCreate = CreateInput<typeof directoryFields>;
export type DirectoryUpdate = UpdateInput<typeof directoryFields>;

export const signingCertInput = inputReader('signing_cert', signingCertFields);
export const directoryInput = inputReader('directory', directoryFields);
export const externalBindingInput = inputReader('external_binding', externalBindingFields);
export const acmeKeyInput = inputReader('acme_key', acmeKeyFields);

function days(description: string, ofDefault: number) {
  return described(integer(0, 3650, { default: ofDefault }), description);
}

function orNullName(description: string) {
  return nullable(described(objectName, description));
}

function orNullPem(description: string) {
  return nullable(described(pemText(32_768), description));
}

function nullableText(description: string) {
  return nullable(shownText(description));
}
