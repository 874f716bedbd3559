// The OpenAPI 3.1 document, folded from the route table.

import { objectKinds } from '../core/object-kinds.ts';
import type { TSchema } from '../schema/define.ts';
import { resourceId } from '../schema/fragments.ts';
import type { Body } from './body.ts';
import { type ExampleOf, exampleOf, type JsonSchema, jsonSchemaOf } from './examples.ts';
import type { Parameters } from './parameters.ts';
import { problemSchema } from './problem-schema.ts';
import { type FailureStatus, failureHeaders, failures, failuresOf } from './refused.ts';
import type { ApiRoute, ReplyShape } from './route.ts';

type Json = Readonly<Record<string, unknown>>;

/** Schemas with a title, by it: each stands once in the document. */
type Components = Map<string, JsonSchema>;

const SECURITY = 'token';

export function openApiDocument(routes: readonly ApiRoute[], version: string): Json {
  const components: Components = new Map();
  const paths: Record<string, Record<string, Json>> = {};
  for (const row of routes) {
    const path = row.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [row.method.toLowerCase()]: operation(row, components) };
  }
  const problem = reference(jsonSchemaOf(problemSchema), components);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Acmery management interface',
      version,
      summary: 'Certificates, directories, EAB tokens, account keys and orders of a private ACME CA.',
      description: INTRODUCTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The service that this document comes from.' }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        [SECURITY]: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API token, or a ServiceAccount token with the audience acmery.io.',
        },
      },
      responses: Object.fromEntries(Object.keys(failures).map((status) => failureResponse(status, problem))),
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
}

const INTRODUCTION = `Permissions nest: admin includes write includes read.
Lists page by \`limit\` and \`after\`; the Link header leads to the next page.
Fields without a value are null. Read-only fields are ignored in requests; unknown fields are refused.
Errors are problem documents (RFC 9457) with a stable \`code\`.`;

function operation(row: ApiRoute, components: Components): Json {
  const { operationId, tag, summary, permission, body, replies } = row;
  return {
    operationId,
    tags: [tag],
    summary,
    description: descriptionOf(row),
    security: permission === 'none' ? [] : [{ [SECURITY]: [permission] }],
    parameters: [...pathParameters(row), ...queryParameters(row.query ?? {})],
    ...(body && { requestBody: requestBody(body, components) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(replies).map(([status, reply]) => [status, response(reply, row, status, components)]),
      ),
      ...Object.fromEntries(
        failuresOf(row).map((status) => [status, { $ref: `#/components/responses/${failures[status].name}` }]),
      ),
    },
  };
}

/** What the row's data says in words, for readers and for clients' doc comments. */
export function descriptionOf({ permission, description, requireOneOf = [] }: ApiRoute): string {
  const rule =
    requireOneOf.length === 0
      ? []
      : [
          requireOneOf.length === 1
            ? `${requireOneOf[0]} is required.`
            : `At least one of ${requireOneOf.join(', ')} is required.`,
        ];
  const needs = permission === 'none' ? 'Needs no credential.' : `Needs permission ${permission}.`;
  return [...(description === undefined ? [] : [description]), ...rule, needs].join(' ');
}

const pathParameters = ({ params = {} }: ApiRoute) =>
  Object.entries(params).map(([name, kind]) => ({
    name,
    in: 'path',
    required: true,
    description: `The id of the ${objectKinds[kind].noun}.`,
    schema: jsonSchemaOf(resourceId(objectKinds[kind].prefix)),
  }));

const queryParameters = (parameters: Parameters) =>
  Object.entries(parameters).map(([name, { schema, isRequired, default: usual }]) => {
    const { description, ...rest } = jsonSchemaOf(schema);
    return {
      name,
      in: 'query',
      required: isRequired,
      description,
      schema: { ...rest, ...(usual !== undefined && { default: usual }) },
    };
  });

const requestBody = ({ schema, whenAbsent }: Body, components: Components) => ({
  required: whenAbsent === undefined,
  content: { 'application/json': media(schema, 'request', components) },
});

function response(reply: ReplyShape, { method }: ApiRoute, status: string, components: Components): Json {
  const { description, schema, mediaTypes = [], headers = {} } = reply;
  const location = method === 'POST' && status === '201' ? { Location: 'The path of what was created.' } : {};
  const binary = mediaTypes.map((type) => [type, { schema: type.startsWith('text/') ? { type: 'string' } : {} }]);
  const content = schema === undefined ? binary : [['application/json', media(schema, 'reply', components)], ...binary];
  return {
    description,
    ...headerObjects({ ...headers, ...location }),
    ...(content.length > 0 && { content: Object.fromEntries(content) }),
  };
}

function failureResponse(status: string, schema: JsonSchema | Json): readonly [string, Json] {
  const row = failures[Number(status) as FailureStatus];
  return [
    row.name,
    {
      description: row.description,
      ...headerObjects(failureHeaders[Number(status) as FailureStatus] ?? {}),
      content: { 'application/problem+json': { schema } },
    },
  ];
}

const headerObjects = (headers: Readonly<Record<string, string>>) =>
  Object.keys(headers).length === 0
    ? {}
    : {
        headers: Object.fromEntries(
          Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
        ),
      };

function media(schema: TSchema, use: ExampleOf, components: Components) {
  const json = jsonSchemaOf(schema);
  return { schema: reference(json, components), example: exampleOf(json, use) };
}

/** The schema with a reference in place of each titled one. Throws where one title stands for two shapes. */
function reference(schema: JsonSchema, components: Components): JsonSchema | Json {
  const { items, properties } = schema;
  const inner = {
    ...schema,
    ...(items && { items: reference(items, components) }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, property]) => [name, reference(property, components)]),
      ),
    }),
  };
  const { title } = schema;
  if (title === undefined) return inner;
  const known = components.get(title);
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(inner))
    throw new Error(`Two shapes of the /v1 interface are titled ${title}.`);
  components.set(title, inner);
  return { $ref: `#/components/schemas/${title}` };
}
