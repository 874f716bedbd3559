// Every field of every /v1 resource, once: bounds, default, sentence, and when it may be sent and is shown.
import { acmeKeyLifecycle } from '../lifecycles/acme-key.ts';
import { statesOf } from '../lifecycles/lifecycle.ts';
import { described, listOf, nullable, oneOf, Type } from '../schema/define.ts';
import {
  addressRanges,
  contactUri,
  date,
  dnsName,
  dnsPatterns,
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
import {
  CERTIFICATE,
  chain,
  DIRECTORY_URL,
  id,
  idOf,
  mostlyNull,
  nullableText,
  object,
  orNull,
  shownPem,
  shownReason,
  shownText,
} from './shown-fields.ts';
import { nameConstraints, shownSubject, subject } from './signing-cert-parts.ts';

export const certTypes = ['intermediate', 'root'] as const;
const keyAvailabilities = ['offline', 'online'] as const;
const caKeyTypes = ['ec_256', 'ec_384', 'ec_521', 'rsa_2048', 'rsa_3072', 'rsa_4096'] as const;
export const leafKeyTypes = [...caKeyTypes, 'ed25519'] as const;
export const profileNames = ['server', 'client', 'mtls'] as const;
const registrationModes = ['preregister', 'open'] as const;
export const acmeKeyStates = statesOf(acmeKeyLifecycle);

export type CertType = (typeof certTypes)[number];
export type KeyAvailability = (typeof keyAvailabilities)[number];
export type LeafKeyType = (typeof leafKeyTypes)[number];
export type ProfileName = (typeof profileNames)[number];
export type AcmeKeyState = (typeof acmeKeyStates)[number];

/** The limits of a directory that names none. */
export const usualDays = { certMinDays: 2, certMaxDays: 97 };

const PUBLIC_KEY = `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEe9d4vSiE9LY3WNofkdy0c92l5+sm
45LQBdGYAsHPNtKhyKNqfxb7vsoo5+ZKCo5XALs9t9y8J0CKW3NNIq9cew==
-----END PUBLIC KEY-----
`;
const RANGES = 500;

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
const optionalName = (description: string) =>
  writable('optional', orNullName(description), { reply: nullableText(description, 'Corp Issuing') });

export const signingCertFields = {
  id: id('scrt'),
  object: object('signing_cert'),
  cert_type: createOnly('required', oneOf(certTypes, { description: 'Whether this is a root or an intermediate.' })),
  key_availability: createOnly(
    'required',
    oneOf(keyAvailabilities, {
      examples: ['online'],
      description: 'Whether the private key is held here (online) or elsewhere (offline).',
    }),
  ),
  key_type: readOnly(oneOf(caKeyTypes, { description: 'Type of the key.' })),
  private_key_type: inputOnly('optional', oneOf(caKeyTypes, { description: 'Type of the key to generate.' })),
  private_key: inputOnly(
    'optional',
    described(secretPemText(16_384), 'Its key as PKCS#8, PKCS#1 or SEC1 in PEM, not encrypted. Taken in, never shown.'),
  ),
  public_cert: writable('optional', orNullPem('Certificate in PEM; null while a CSR waits for it.'), {
    reply: nullableText('Certificate in PEM; null while a CSR waits for it.', CERTIFICATE),
  }),
  name: optionalName('Display name; when absent the common name of the certificate.'),
  expires_at: readOnly(orNull(timestamp, 'End of the certificate; null while a CSR waits for one.')),
  signing_cert_id: createOnly('optional', nullable(idOf('scrt', 'The CA cert that signs this one; null for a root.'))),
  in_use: readOnly(
    Type.Boolean({ description: 'True while something depends on it, so that it cannot be deleted.' }),
    'single',
  ),
  subject: createOnly('optional', nullable(subject), { reply: shownSubject }),
  valid_days: inputOnly(
    'optional',
    described(
      integer(1, 36_500),
      'Days that a generated certificate lives, never beyond its parent; 20 years for a root and 10 for an intermediate when absent.',
    ),
  ),
  path_length: createOnly(
    'optional',
    nullable(
      described(
        integer(0, 10),
        'CA certs that may stand below; null for no limit. When absent there is none for a root, and 0 for an intermediate.',
      ),
    ),
    {
      reply: orNull(Type.Integer(), 'CA certs that may stand below; null for no limit.'),
    },
  ),
  name_constraints: createOnly('optional', nullable(nameConstraints), {
    reply: Type.Unsafe<unknown>({
      type: ['object', 'null'],
      description: 'Which names certificates below may hold.',
      examples: [null],
    }),
  }),
  revoked_at: readOnly(mostlyNull(timestamp, 'When it was revoked; null when it is not.')),
  revoke_reason: shownReason,
};

export const directoryFields = {
  id: id('dir'),
  object: object('directory'),
  name: writable('required', described(objectName, 'Name.')),
  slug: writable('required', described(slug, 'Part of the ACME URL: 1 to 63 characters of a-z, 0-9 and inner "-".')),
  signing_cert_id: writable('required', idOf('scrt', 'Online intermediate CA cert that signs new certificates.')),
  directory_url: readOnly(shownText('ACME directory URL.', DIRECTORY_URL)),
  allowed_dns_identifiers: writable(
    'default',
    described(
      dnsPatterns(RANGES),
      'DNS patterns that names of new orders must match: a name itself, `*.name` for exactly one more label, `**.name` for one or more, `*` for any name of one label, `**` for any name. Empty allows none.',
      { default: ['**'] },
    ),
  ),
  allowed_ip_identifiers: writable(
    'default',
    described(
      addressRanges(RANGES),
      'CIDR ranges or addresses that IP addresses of new orders must lie in. Empty allows none.',
      {
        default: ['0.0.0.0/0', '::/0'],
      },
    ),
  ),
  caa_tag: writable(
    'optional',
    described(
      dnsName,
      'Issuer domain that CAA records must name; when absent it is made of the slug and the host of the directory URL.',
    ),
  ),
  cert_min_days: writable(
    'default',
    days('Shortest validity of a new certificate, in days; 0 for no lower bound.', usualDays.certMinDays),
  ),
  cert_max_days: writable(
    'default',
    days(
      'Longest validity of a new certificate, in days. An order that names no dates gets 90 days, or this where it is less.',
      usualDays.certMaxDays,
    ),
  ),
  on_missing_caa: writable(
    'default',
    oneOf(['pass', 'fail'], { default: 'pass', description: 'Result when no CAA record exists up to the root.' }),
  ),
  registration_mode: writable(
    'default',
    oneOf(registrationModes, {
      default: 'preregister',
      description: 'preregister: accounts need an EAB token or a registered key; open: clients register themselves.',
    }),
  ),
  remote_ip_whitelist: writable(
    'default',
    described(addressRanges(RANGES), 'CIDR ranges or addresses that may use the directory; empty for all.', {
      default: [],
    }),
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
    described(
      integer(0, 365, { default: 7 }),
      'Days over which renewals are spread after a change of CA; 0: they are not pulled forward.',
    ),
  ),
  reuse_slug: writable('optional', Type.Boolean({ description: 'Takes the slug of a deleted directory.' }), {
    shown: 'never',
  }),
  cert_chain: chain('Intermediate certificates in PEM, issuer first.'),
  root_cert: readOnly(orNull(shownPem(''), 'Root certificate in PEM; null where it is unknown.'), 'single'),
};

export const externalBindingFields = {
  id: id('eab'),
  object: object('external_binding'),
  directory_id: createOnly('required', idOf('dir', 'Directory the token belongs to.')),
  name: optionalName('Name; the account key made with the token gets it too.'),
  order_validations: orderValidationsField,
  key_id: createOnly(
    'optional',
    nullable(
      described(
        keyId,
        'ACME key id of the token, 1 to 128 characters of A-Z, a-z, 0-9, ".", "_" and "-"; its id when null.',
      ),
    ),
  ),
  acme_key_id: readOnly(mostlyNull(resourceId('acmk'), 'Account key made with this token; null while unused.')),
  mac_key: readOnly(
    shownText('MAC key, base64url; only for callers who may write.', 'q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k'),
    'sometimes',
  ),
  directory_url: readOnly(shownText('ACME directory URL.', DIRECTORY_URL), 'single'),
};

export const acmeKeyFields = {
  id: id('acmk'),
  object: object('acme_key'),
  directory_id: createOnly('required', idOf('dir', 'Directory the account belongs to.')),
  name: optionalName('Name.'),
  contacts: writable('default', listOf(contactUri, 10, { default: [], description: 'Contact URIs.' }), {
    reply: Type.Array(Type.String(), { description: 'Contact URIs.', examples: [['mailto:ops@corp.example']] }),
  }),
  public_key: writable(
    'required',
    described(
      pemText(8_192),
      'Public key in PEM (SPKI): RSA with 2048, 3072 or 4096 bits, P-256, P-384, P-521 or Ed25519.',
      { examples: [PUBLIC_KEY] },
    ),
  ),
  jwk_thumbprint: readOnly(
    shownText('Thumbprint of the key (RFC 7638).', 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'),
  ),
  kid: readOnly(
    shownText(
      'ACME key id: the URL of the account.',
      'https://localhost:8443/acme/web/account/acmk_01k5w3v8q2e7rbs9x4m6tfhz0j',
    ),
  ),
  order_validations: orderValidationsField,
  state: readOnly(oneOf(acmeKeyStates, { description: 'State of the account.' })),
  used_on: readOnly(orNull(date, 'Day of the last use; null when never used.')),
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
