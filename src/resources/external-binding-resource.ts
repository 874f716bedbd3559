// ExternalBinding: an EAB token as a custom resource.
import { described, oneOf, type Static } from '../schema/define.ts';
import { camelCaseTwins, twinOf } from './camel-case.ts';
import { type CreateInput, createOnly, writable } from './field.ts';
import { externalBindingFields } from './fields.ts';
import { column, conditionColumn, defineKind, wideColumn } from './kind.ts';
import type { Resource } from './resource.ts';
import { deletionPolicy, reference, secretName } from './spec-parts.ts';
import { shown, shownAnnotation, shownTime, statusShape } from './status-parts.ts';

const spec = {
  directoryRef: createOnly('required', reference('Directory that the token is for.')),
  keyId: createOnly(
    'optional',
    described(twinOf(externalBindingFields.key_id), 'ACME key id of the token; <namespace>.<name> when absent.'),
  ),
  name: writable(
    'optional',
    described(
      twinOf(externalBindingFields.name),
      'Display name, the account key gets it too; metadata.name when absent.',
    ),
  ),
  ...camelCaseTwins(externalBindingFields, 'order_validations'),
  secretName: writable(
    'optional',
    secretName('Secret to write: kid, secret, directory, ca.crt; <name>-eab when absent.'),
  ),
  onDelete: writable(
    'default',
    oneOf(['KeepAccount', 'RevokeAccount'], {
      default: 'KeepAccount',
      description: 'What becomes of the account that was made with the token.',
    }),
  ),
  deletionPolicy: deletionPolicy('Delete', 'Whether the token goes with this object, or can still be used.'),
};

const status = statusShape({
  id: shown('Id in /v1.'),
  keyId: shown('ACME key id of the token.'),
  directoryUrl: shown('ACME directory URL.', 4_096),
  orderValidations: shown('challenge or auto_approve.'),
  secretName: shown('Secret that holds the token.'),
  secretHash: shown('SHA-256 of what was written into the Secret.'),
  acmeKeyId: shown('Id of the account key that was made with it.'),
  accountUrl: shown('URL of that account.', 4_096),
  usedAt: shownTime('When it was used.'),
  renewed: shownAnnotation('Annotation acmery.io/renew as last answered.'),
});

type ExternalBindingSpec = CreateInput<typeof spec>;
export type ExternalBindingStatus = Static<typeof status>;
export type ExternalBindingResource = Resource<'ExternalBinding', ExternalBindingSpec, ExternalBindingStatus>;

export const externalBindingKind = defineKind({
  kind: 'ExternalBinding',
  plural: 'externalbindings',
  singular: 'externalbinding',
  shortName: 'eab',
  description: 'An EAB token: the right to make one account in a directory.',
  spec,
  status,
  rules: [],
  columns: [
    column('Directory', '.spec.directoryRef.name'),
    column('Key ID', '.status.keyId'),
    conditionColumn('Bound', 'Bound', 'status'),
    wideColumn('Secret', '.status.secretName'),
  ],
  selectable: ['directoryRef.name', 'keyId'],
});
