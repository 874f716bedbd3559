import { expect, test } from 'vitest';
import { camelCase, camelCaseTwins, twinOf } from '../../../src/resources/camel-case.ts';
import type { Field } from '../../../src/resources/field.ts';
import {
  acmeKeyFields,
  directoryFields,
  externalBindingFields,
  signingCertFields,
} from '../../../src/resources/fields.ts';
import { kinds } from '../../../src/resources/kinds.ts';

test('names are in camelCase at every depth, and null is gone', () => {
  const { nameConstraints } = camelCaseTwins(signingCertFields, 'name_constraints');
  expect(nameConstraints.schema).toMatchObject({ type: 'object', additionalProperties: false });
  expect(Object.keys((nameConstraints.schema as { properties?: object }).properties ?? {})).toEqual([
    'permittedDns',
    'excludedDns',
    'permittedIp',
    'excludedIp',
  ]);
  expect(twinOf(externalBindingFields.key_id)).toMatchObject({ type: 'string', format: 'key-id', maxLength: 128 });
});

test('what /v1 takes on create only never changes, and presence is kept', () => {
  const twins = camelCaseTwins(signingCertFields, 'valid_days', 'cert_type');
  expect(twins.validDays).toMatchObject({ use: 'create_only', presence: 'optional' });
  expect(twins.certType).toMatchObject({ use: 'create_only', presence: 'required' });
});

/** What belongs to /v1 only, and what stands for it in a spec. */
const elsewhere: Readonly<Record<string, string>> = {
  'SigningCert.private_key': 'import',
  'SigningCert.signing_cert_id': 'signingCertRef',
  'Directory.signing_cert_id': 'signingCertRef',
  'Directory.reuse_slug': 'an annotation',
  'ExternalBinding.directory_id': 'directoryRef',
  'AcmeKey.directory_id': 'directoryRef',
};

const pairs = Object.entries({
  SigningCert: signingCertFields,
  Directory: directoryFields,
  ExternalBinding: externalBindingFields,
  AcmeKey: acmeKeyFields,
} as const).flatMap(([kind, fields]) =>
  Object.entries(fields as Readonly<Record<string, Field>>)
    .filter(([name, { use }]) => use !== 'read_only' && elsewhere[`${kind}.${name}`] === undefined)
    .map(([name, field]) => ({ kind: kind as keyof typeof kinds, name, field })),
);

const BOUNDS = ['default', 'format', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum', 'minItems', 'maxItems'];
const boundsOf = (schema: object) => BOUNDS.map((keyword) => (schema as Record<string, unknown>)[keyword]);

test.each(pairs)('$kind has the twin of $name, with the same bounds and default', ({ kind, name, field }) => {
  const twin = kinds[kind].spec[camelCase(name)];
  expect(boundsOf(twin?.schema ?? {})).toEqual(boundsOf(field.schema));
});

test.each(pairs.filter(({ field }) => 'uniqueItems' in field.schema))(
  '$kind has a rule for $name, whose items stand once',
  ({ kind, name }) => {
    const rules = kinds[kind].rules.filter(
      ({ field, reason }) => field === camelCase(name) && reason === 'FieldValueDuplicate',
    );
    expect(rules).toHaveLength(1);
  },
);
