import { expect, test } from 'vitest';
import { type Fields, replyShape } from '../../../src/resources/field.ts';
import {
  acmeKeyFields,
  acmeKeyInput,
  directoryFields,
  directoryInput,
  externalBindingFields,
  externalBindingInput,
  signingCertFields,
  signingCertInput,
} from '../../../src/resources/fields.ts';
import { issuedCertFields, orderFields } from '../../../src/resources/record-fields.ts';
import { revocationReasonFields } from '../../../src/resources/revocation-reason-fields.ts';
import {
  chosenReason,
  clientReasonNumbers,
  reasonNumbered,
  revocationReasonNames,
} from '../../../src/resources/revocation-reasons.ts';
import { closed } from '../../../src/schema/define.ts';
import { check } from '../../../src/schema/validator.ts';

const DIR = 'dir_01k5w3v8q2e7rbs9x4m6tfhz0j';
const SCRT = 'scrt_01k5w3v8q2e7rbs9x4m6tfhz0j';
const tables = {
  signing_cert: signingCertFields,
  directory: directoryFields,
  external_binding: externalBindingFields,
  acme_key: acmeKeyFields,
  issued_cert: issuedCertFields,
  order: orderFields,
} as const satisfies Record<string, Fields>;

const valueIn = <T>(result: { ok: true; value: T } | { ok: false; problems: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.value;
};
const fieldsOf = (result: { ok: boolean; problems?: readonly { field: string; code: string }[] }) =>
  (result.problems ?? []).map(({ field, code }) => `${field} ${code}`);

const minimal = { name: 'Web', signing_cert_id: SCRT, slug: 'web' };

test('a directory of name, slug and signing cert gets the defaults of the specification', () => {
  expect(valueIn(directoryInput.create({ directory: minimal }))).toEqual({
    ...minimal,
    allowed_dns_identifiers: ['**'],
    allowed_ip_identifiers: ['0.0.0.0/0', '::/0'],
    cert_min_days: 2,
    cert_max_days: 97,
    on_missing_caa: 'pass',
    registration_mode: 'preregister',
    remote_ip_whitelist: [],
    profiles: ['server'],
    allowed_key_types: ['ec_256', 'ec_384', 'ec_521', 'rsa_2048', 'rsa_3072', 'rsa_4096'],
    rollover_days: 7,
  });
});

test('a caller who changes his defaults does not change those of the next', () => {
  const first = valueIn(directoryInput.create({ directory: minimal }));
  (first.allowed_dns_identifiers as string[]).push('evil');
  expect(valueIn(directoryInput.create({ directory: minimal })).allowed_dns_identifiers).toEqual(['**']);
});

test('an update fills in nothing and an empty one is fine', () => {
  expect(valueIn(directoryInput.update({ directory: {} }))).toEqual({});
  expect(valueIn(directoryInput.update({ directory: { cert_max_days: 30 } }))).toEqual({ cert_max_days: 30 });
  expect(valueIn(externalBindingInput.update({ external_binding: { order_validations: 'auto_approved' } }))).toEqual({
    order_validations: 'auto_approved',
  });
});

test('read-only fields are ignored as input, whatever they hold', () => {
  const noise = { id: 7, object: null, directory_url: [], cert_chain: { a: 1 }, root_cert: 'x' };
  expect(valueIn(directoryInput.update({ directory: { ...noise, name: 'B' } }))).toEqual({ name: 'B' });
  expect(valueIn(directoryInput.create({ directory: { ...minimal, ...noise } }))).not.toHaveProperty('id');
  expect([...signingCertInput.ignored].sort()).toEqual([
    'expires_at',
    'id',
    'in_use',
    'key_type',
    'object',
    'revoke_reason',
    'revoked_at',
  ]);
  expect([...acmeKeyInput.ignored].sort()).toEqual(['id', 'jwk_thumbprint', 'kid', 'object', 'state', 'used_on']);
  expect([...externalBindingInput.ignored].sort()).toEqual(['acme_key_id', 'directory_url', 'id', 'mac_key', 'object']);
});

test('unknown fields, unknown wrappers and wrong wrappers are named', () => {
  expect(fieldsOf(directoryInput.update({ directory: { nme: 'x' } }))).toEqual(['directory.nme unknown_field']);
  expect(fieldsOf(directoryInput.update({ directory: {}, extra: 1 }))).toEqual(['extra unknown_field']);
  expect(fieldsOf(directoryInput.update({ name: 'x' }))).toEqual(['directory required', 'name unknown_field']);
  for (const body of [null, [], 'x', 1, true]) expect(fieldsOf(directoryInput.update(body))).toEqual([' wrong_type']);
  for (const inner of [null, [], 'x']) {
    expect(fieldsOf(directoryInput.update({ directory: inner }))).toEqual(['directory wrong_type']);
  }
});

test('a member __proto__ in the body is an unknown field and nothing else', () => {
  const body = JSON.parse('{"directory":{"__proto__":{"name":"x"},"cert_max_days":5},"__proto__":{"a":1}}') as unknown;
  expect(fieldsOf(directoryInput.update(body)).sort()).toEqual([
    '__proto__ unknown_field',
    'directory.__proto__ unknown_field',
  ]);
});

test('what a reply shows as null may be sent back', () => {
  expect(valueIn(directoryInput.update({ directory: { website: null, terms_of_service: null } }))).toEqual({
    website: null,
    terms_of_service: null,
  });
  valueIn(acmeKeyInput.update({ acme_key: { name: null, used_on: null } }));
  valueIn(
    signingCertInput.update({ signing_cert: { signing_cert_id: null, path_length: null, name_constraints: null } }),
  );
});

test.each([
  [
    directoryInput.create,
    { directory: {} },
    ['directory.name required', 'directory.signing_cert_id required', 'directory.slug required'],
  ],
  [
    directoryInput.create,
    { directory: { ...minimal, signing_cert_id: DIR } },
    ['directory.signing_cert_id bad_format'],
  ],
  [
    directoryInput.update,
    { directory: { cert_min_days: -1, cert_max_days: 3651 } },
    ['directory.cert_max_days out_of_range', 'directory.cert_min_days out_of_range'],
  ],
  [
    directoryInput.update,
    { directory: { profiles: [], rollover_days: 366 } },
    ['directory.profiles bad_count', 'directory.rollover_days out_of_range'],
  ],
  [
    externalBindingInput.create,
    { external_binding: { name: 'x', key_id: 'eab_1' } },
    ['external_binding.directory_id required', 'external_binding.key_id bad_format'],
  ],
  [
    externalBindingInput.create,
    { external_binding: { directory_id: DIR, order_validations: 'auto' } },
    ['external_binding.order_validations not_allowed'],
  ],
  [
    acmeKeyInput.create,
    { acme_key: { directory_id: DIR, contacts: ['nobody'] } },
    ['acme_key.contacts[0] bad_format', 'acme_key.public_key required'],
  ],
  [
    signingCertInput.create,
    { signing_cert: {} },
    ['signing_cert.cert_type required', 'signing_cert.key_availability required'],
  ],
  [
    signingCertInput.create,
    {
      signing_cert: {
        cert_type: 'root',
        key_availability: 'online',
        private_key_type: 'dsa',
        subject: { C: 'de', X: 'y' },
      },
    },
    [
      'signing_cert.private_key_type not_allowed',
      'signing_cert.subject.C bad_format',
      'signing_cert.subject.X unknown_field',
    ],
  ],
  [signingCertInput.update, { signing_cert: { private_key: 'x' } }, ['signing_cert.private_key unknown_field']],
])('%# refuses what does not fit', (read, body, problems) => {
  expect(fieldsOf(read(body)).sort()).toEqual(problems);
});

test('every default stands in its schema, and only there', () => {
  for (const [resource, fields] of Object.entries<Fields>(tables)) {
    for (const [name, field] of Object.entries(fields)) {
      expect('default' in field.schema, `${resource}.${name}`).toBe(field.presence === 'default');
      expect('default' in field.reply, `${resource}.${name}`).toBe(false);
    }
  }
});

test('every field has a sentence, and every input string and list a bound', () => {
  for (const [resource, fields] of Object.entries<Fields>(tables)) {
    for (const [name, { schema, use }] of Object.entries(fields)) {
      const facts = schema as {
        description?: string;
        type?: string | string[];
        maxLength?: number;
        maxItems?: number;
        enum?: unknown;
      };
      expect(facts.description, `${resource}.${name}`).toMatch(/^\S.*\.$/);
      if (use === 'read_only' || facts.enum !== undefined) continue;
      if (facts.type?.includes('string')) expect(facts.maxLength, name).toBeGreaterThan(0);
      if (facts.type?.includes('array')) expect(facts.maxItems, name).toBeGreaterThan(0);
    }
  }
});

test('list items leave out what the specification says', () => {
  const absent = (fields: Fields) => {
    const { properties } = replyShape(fields, 'list') as unknown as { properties: Record<string, unknown> };
    const single = replyShape(fields, 'single') as unknown as { properties: Record<string, unknown> };
    return Object.keys(single.properties).filter((name) => !(name in properties));
  };
  expect(absent(signingCertFields)).toEqual(['in_use']);
  expect(absent(directoryFields)).toEqual(['cert_chain', 'root_cert']);
  expect(absent(externalBindingFields)).toEqual(['directory_url']);
  expect(absent(issuedCertFields)).toEqual(['public_cert']);
  expect(absent(orderFields)).toEqual([]);
  expect(absent(acmeKeyFields)).toEqual([]);
});

test('a reply with all fields fits its shape and shows no secret or input-only field', () => {
  const token = {
    id: 'eab_01k5w3v8q2e7rbs9x4m6tfhz0j',
    object: 'external_binding',
    directory_id: DIR,
    name: null,
    order_validations: 'auto_approve',
    key_id: null,
    acme_key_id: null,
    directory_url: 'https://a/acme/web/directory',
  };
  expect(check(replyShape(externalBindingFields, 'single'), token)).toEqual([]);
  expect(check(replyShape(externalBindingFields, 'single'), { ...token, mac_key: 'x' })).toEqual([]);
  expect(
    check(replyShape(externalBindingFields, 'single'), { ...token, order_validations: 'auto_approved' }),
  ).toHaveLength(1);
  const shown = replyShape(signingCertFields, 'single') as unknown as { properties: Record<string, unknown> };
  for (const name of ['private_key', 'private_key_type', 'valid_days'])
    expect(shown.properties).not.toHaveProperty(name);
  for (const fields of Object.values(tables)) {
    for (const form of ['single', 'list'] as const) expect(() => check(replyShape(fields, form), {})).not.toThrow();
  }
});

test('revocation reasons are those of the specification', () => {
  expect([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -1].map(reasonNumbered)).toEqual([
    'unspecified',
    'key_compromise',
    'ca_compromise',
    'affiliation_changed',
    'superseded',
    'cessation_of_operation',
    undefined,
    undefined,
    undefined,
    'privilege_withdrawn',
    'aa_compromise',
    undefined,
    undefined,
  ]);
  expect(revocationReasonNames).toHaveLength(8);
});

test('REV-5: clients may give 0, 1, 3, 4 and 5', () => {
  expect(clientReasonNumbers).toEqual([0, 1, 3, 4, 5]);
});

test('a revocation gives one reason, by number or by name, or none', () => {
  expect(chosenReason('issued_cert', {})).toEqual({ ok: true, value: 'unspecified' });
  expect(chosenReason('issued_cert', { reason: 4 })).toEqual({ ok: true, value: 'superseded' });
  expect(chosenReason('issued_cert', { revoke_reason: 'aa_compromise' })).toEqual({ ok: true, value: 'aa_compromise' });
  expect(fieldsOf(chosenReason('issued_cert', { reason: 0, revoke_reason: 'unspecified' }))).toEqual([
    'issued_cert.revoke_reason not_applicable',
  ]);
  expect(fieldsOf(chosenReason('issued_cert', { reason: 6 }))).toEqual(['issued_cert.reason not_allowed']);
});

test('the reasons of a body are checked by the schema', () => {
  const shape = closed({ issued_cert: closed(revocationReasonFields) });
  for (const good of [{}, { reason: 0 }, { reason: 10 }, { revoke_reason: 'superseded' }])
    expect(check(shape, { issued_cert: good })).toEqual([]);
  for (const bad of [
    { reason: 7 },
    { reason: '1' },
    { reason: 1.5 },
    { reason: null },
    { revoke_reason: 'hold' },
    { why: 1 },
  ]) {
    expect(check(shape, { issued_cert: bad }), JSON.stringify(bad)).toHaveLength(1);
  }
});
