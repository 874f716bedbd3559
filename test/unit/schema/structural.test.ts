import { expect, test } from 'vitest';
import { closed, listOf, nullable, oneOf, setOf, Type } from '../../../src/schema/define.ts';
import { contactUri, dnsName, httpUrl, keyId, pemText, serialNumber } from '../../../src/schema/fragments.ts';
import { toStructural } from '../../../src/schema/structural.ts';

const text = Type.String({ maxLength: 5 });
const node = (schema: object) => Type.Unsafe<unknown>(schema);

test('keeps bounds, defaults, enums and what is for Kubernetes; drops closedness and what is for documents', () => {
  const schema = closed({
    name: Type.String({ minLength: 1, maxLength: 5, pattern: '^a+$', description: 'Name.', examples: ['a'] }),
    kind: Type.Optional(oneOf(['a', 'b'], { default: 'a' })),
    days: Type.Optional(Type.Integer({ minimum: 0, maximum: 9, default: 0, format: 'int32' })),
    tags: Type.Optional(setOf(listOf(text, 3, { default: [] }))),
    labels: Type.Optional(node({ type: 'object', additionalProperties: text, maxProperties: 2 })),
  });
  expect(toStructural(schema)).toEqual({
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 5, pattern: '^a+$', description: 'Name.' },
      kind: { type: 'string', enum: ['a', 'b'], default: 'a' },
      days: { type: 'integer', minimum: 0, maximum: 9, default: 0, format: 'int32' },
      tags: {
        type: 'array',
        items: { type: 'string', maxLength: 5 },
        maxItems: 3,
        default: [],
        'x-kubernetes-list-type': 'set',
      },
      labels: { type: 'object', additionalProperties: { type: 'string', maxLength: 5 }, maxProperties: 2 },
    },
  });
});

test('a format becomes a format of Kubernetes, a rule, or nothing where the pattern says it all', () => {
  expect(toStructural(contactUri)).toMatchObject({ format: 'uri' });
  expect(toStructural(dnsName)).not.toHaveProperty('format');
  expect(toStructural(pemText(9))).toEqual({ type: 'string', minLength: 1, maxLength: 9 });
  expect(toStructural(keyId)['x-kubernetes-validations']).toEqual([
    { rule: "!self.startsWith('eab_')", message: expect.stringMatching(/^expected a key id/) },
  ]);
  expect(toStructural(httpUrl)).not.toHaveProperty('format');
});

test.each([
  ['no type', node({ maxLength: 1 }), 'exactly one type'],
  ['two types', nullable(text), 'exactly one type'],
  ['an unknown type', node({ type: 'null' }), 'exactly one type'],
  ['$ref', node({ ...text, $ref: '#/x' }), '$ref'],
  ['const', node({ ...text, const: 'x' }), 'const'],
  ['anyOf', node({ ...text, anyOf: [{ type: 'string' }] }), 'anyOf'],
  ['oneOf', node({ ...text, oneOf: [{ type: 'string' }] }), 'oneOf'],
  ['a union without a type', Type.Union([Type.Literal('a'), Type.Literal('b')]), 'exactly one type'],
  ['patternProperties', node({ type: 'object', maxProperties: 1, patternProperties: {} }), 'patternProperties'],
  ['uniqueItems', listOf(text, 3, { uniqueItems: true }), 'uniqueItems'],
  ['tuple items', node({ type: 'array', maxItems: 1, items: [text] }), 'one schema for all items'],
  ['prefixItems', listOf(text, 1, { prefixItems: [text] }), 'prefixItems'],
  ['exclusive bounds', Type.Integer({ exclusiveMinimum: 0 }), 'exclusiveMinimum'],
  ['other fields beside named ones', Type.Object({ a: text }, { additionalProperties: text }), 'additional properties'],
  ['any other fields', node({ type: 'object', maxProperties: 1, additionalProperties: true }), 'additional properties'],
  ['an unknown format', Type.String({ maxLength: 1, format: 'rgb' }), 'format rgb is unknown'],
  ['a format without a form', Type.String({ maxLength: 45, format: 'ip-address' }), 'no form for CRDs'],
  ['text without a bound', Type.String(), 'needs a bound'],
  ['a list without a bound', Type.Array(text), 'maxItems'],
  ['a list of anything', node({ type: 'array', maxItems: 3 }), 'items'],
  ['a map without a bound', node({ type: 'object', additionalProperties: text }), 'needs a bound'],
  ['look-ahead', Type.String({ maxLength: 1, pattern: '^(?!a)' }), 'RE2'],
  ['a back reference', Type.String({ maxLength: 1, pattern: '(a)\\1' }), 'RE2'],
  ['a unicode escape', Type.String({ maxLength: 1, pattern: '\\u00e4' }), 'RE2'],
])('throws on %s, and says where', (_, schema, words) => {
  expect(() => toStructural(schema)).toThrow(words);
  expect(() => toStructural(closed({ a: closed({ b: schema }) }))).toThrow(/^a\.b: /);
  expect(() => toStructural(closed({ a: listOf(schema, 1) }))).toThrow(/^a\[\]: /);
});

test('a format whose pattern says it all is taken without one of its own', () => {
  expect(toStructural(serialNumber)).not.toHaveProperty('format');
});
