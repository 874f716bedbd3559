// The OpenAPI document: valid for others, and true to the route table.
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { exampleOf, jsonSchemaOf } from '../../../src/api/examples.ts';
import { openApiDocument } from '../../../src/api/openapi.ts';
import { problemCodes, problemSchema } from '../../../src/api/problem-schema.ts';
import { apiRoutes } from '../../../src/api/routes.ts';
import { resourceShapes } from '../../../src/api/shapes.ts';
import { errorKinds } from '../../../src/core/errors.ts';
import { directoryFields } from '../../../src/resources/fields.ts';
import { check } from '../../../src/schema/validator.ts';
import { sampleRoutes } from '../../support/sample-routes.ts';

const routes = [...apiRoutes('1.2.3'), ...sampleRoutes];
// As a client reads it.
const document = JSON.parse(JSON.stringify(openApiDocument(routes, '1.2.3')));

test('a validator of others finds nothing wrong with it', async () => {
  const result = await new Validator().validate(structuredClone(document));
  expect(result.errors).toBeUndefined();
  expect(result.valid).toBe(true);
});

test('every route is in it, and nothing else', () => {
  const operations = Object.entries<Record<string, { operationId: string }>>(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
  );
  expect(operations.sort()).toEqual(
    routes.map((row) => `${row.method.toLowerCase()} ${row.path.replace(/:(\w+)/g, '{$1}')} ${row.operationId}`).sort(),
  );
});

test('every reference leads to a component', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)];
  expect(references.length).toBeGreaterThan(10);
  for (const [, kind = '', name = ''] of references) expect(document.components[kind]).toHaveProperty(name);
});

test('an operation says its permission, parameters, body, replies and failures', () => {
  const { post } = document.paths['/v1/samples'];
  const list = document.paths['/v1/samples'].get;
  expect(list.security).toEqual([{ token: ['read'] }]);
  expect(list.description).toBe('At least one of directory_id, acme_key_id is required. Needs permission read.');
  expect(list.parameters[0]).toEqual({
    name: 'limit',
    in: 'query',
    required: false,
    description: 'How many.',
    schema: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
  });
  expect(Object.keys(list.responses)).toEqual(['200', '400', '401', '403', '500', '503']);
  expect(post.requestBody.required).toBe(true);
  expect(post.requestBody.content['application/json'].schema).toEqual({ $ref: '#/components/schemas/SampleCreate' });
  expect(Object.keys(post.responses)).toEqual(['201', '400', '401', '403', '413', '415', '422', '500', '503']);
  expect(post.responses['201'].headers).toHaveProperty('Location');
  expect(document.paths['/v1/samples/{id}/reason'].delete.requestBody.required).toBe(false);
  expect(document.paths['/v1/openapi.json'].get.security).toEqual([]);
});

test('lists tell of their Link header', () => {
  expect(document.paths['/v1/audit_events'].get.responses['200'].headers).toHaveProperty('Link');
});

test('two shapes may not share a title', () => {
  const other = resourceShapes('directory', 'AuditEvent', directoryFields);
  const replies = { 200: { description: '', schema: other.single } };
  const clashing = sampleRoutes.slice(0, 1).map((row) => ({ ...row, replies }));
  expect(() => openApiDocument([...routes, ...clashing], '1')).toThrow('Two shapes of the /v1 interface are titled');
});

describe('an example', () => {
  const schemas = routes.flatMap((row) => [
    ...(row.body ? [[`body of ${row.operationId}`, row.body.schema, 'request'] as const] : []),
    ...Object.values(row.replies).flatMap(({ schema }) =>
      schema ? [[`reply of ${row.operationId}`, schema, 'reply'] as const] : [],
    ),
  ]);

  test.each([...schemas, ['problem', problemSchema, 'reply'] as const])(
    'of the %s fits its schema',
    (_what, schema, use) => {
      expect(check(schema, exampleOf(jsonSchemaOf(schema), use))).toEqual([]);
    },
  );
});

test('every kind of error of the core is a code of the document', () => {
  expect(problemCodes).toEqual(expect.arrayContaining(Object.keys(errorKinds)));
});
