// AcmeKey: a registered account key as a custom resource.
import { closed, described, listOf, oneOf, type Static, setOf, Type } from '../schema/define.ts';
import { camelCaseTwins, twinOf } from './camel-case.ts';
import { type CreateInput, createOnly, writable } from './field.ts';
import { acmeKeyFields, leafKeyTypes } from './fields.ts';
import { column, defineKind, wideColumn } from './kind.ts';
import type { Resource } from './resource.ts';
import { deletionPolicy, reference, secretName } from './spec-parts.ts';
import { shown, shownLong, statusShape } from './status-parts.ts';

const spec = {
  directoryRef: createOnly('required', reference('Directory that the account is for.')),
  name: writable('optional', described(twinOf(acmeKeyFields.name), 'Display name; metadata.name when absent.')),
  ...camelCaseTwins(acmeKeyFields, 'order_validations'),
  contacts: writable('default', setOf(twinOf(acmeKeyFields.contacts))),
  publicKey: createOnly(
    'optional',
    described(
      twinOf(acmeKeyFields.public_key),
      'Public key to begin with, in PEM (SPKI): RSA with 2048, 3072 or 4096 bits, P-256, P-384, P-521 or Ed25519.',
    ),
  ),
  generate: createOnly(
    'optional',
    closed(
      {
        keyType: oneOf(leafKeyTypes, { description: 'Type of the key; cert-manager takes RSA only.' }),
        secretName: Type.Optional(secretName('Secret to write the private key to; <name>-account when absent.')),
      },
      { description: 'Makes the key here, and writes it into a Secret.' },
    ),
  ),
  deletionPolicy: deletionPolicy('Delete', 'Whether the account is revoked with this object, or lives on.'),
};

const status = statusShape({
  id: shown('Id in /v1.'),
  state: shown('State of the account.'),
  thumbprint: shown('Thumbprint of the key (RFC 7638), base64url.'),
  publicKey: shownLong('Public key in PEM as it is now.'),
  contacts: listOf(shown('Contact URI.'), 64, {
    'x-kubernetes-list-type': 'atomic',
    description: 'Contact URIs as they are now.',
  }),
  orderValidations: shown('challenge or auto_approve.'),
  directoryUrl: shown('ACME directory URL.', 4_096),
  accountUrl: shown('URL of the account.', 4_096),
  secretName: shown('Secret that holds the private key.'),
});

type AcmeKeySpec = CreateInput<typeof spec>;
export type AcmeKeyStatus = Static<typeof status>;
export type AcmeKeyResource = Resource<'AcmeKey', AcmeKeySpec, AcmeKeyStatus>;

export const acmeKeyKind = defineKind({
  kind: 'AcmeKey',
  plural: 'acmekeys',
  singular: 'acmekey',
  shortName: 'acmekey',
  description: 'The key of an ACME account, registered beforehand.',
  spec,
  status,
  rules: [
    {
      asked: 'always',
      cel: 'has(self.publicKey) != has(self.generate)',
      message: 'exactly one of publicKey and generate is needed',
      field: 'publicKey',
      reason: 'FieldValueInvalid',
      holds: (self) => (self.publicKey === undefined) !== (self.generate === undefined),
    },
  ],
  columns: [
    column('Directory', '.spec.directoryRef.name'),
    wideColumn('Thumbprint', '.status.thumbprint'),
    wideColumn('Account', '.status.accountUrl'),
    wideColumn('Secret', '.status.secretName'),
  ],
  selectable: ['directoryRef.name'],
});
