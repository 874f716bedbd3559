// Rows that answer with what they were given, to try the door itself.
import { createBody, optional, plainBody, updateBody, wrappedBody } from '../../src/api/body.ts';
import {
  enumParameter,
  idOrNoneParameter,
  idParameter,
  integerParameter,
  required,
  timeParameter,
} from '../../src/api/parameters.ts';
import { type ApiRoute, accepted, created, noContent, ok, type ReplyShape, route } from '../../src/api/route.ts';
import { CaError } from '../../src/core/errors.ts';
import { notFound } from '../../src/core/object-kinds.ts';
import { directoryFields } from '../../src/resources/fields.ts';
import { revocationReasonFields } from '../../src/resources/revocation-reason-fields.ts';
import { closed, listOf, Type } from '../../src/schema/define.ts';

const anything: ReplyShape = { description: 'What came.', schema: Type.Unsafe({ type: 'object' }) };
const row = { tag: 'Samples', summary: 'Answer with what came' };

const thrown: Readonly<Record<string, () => unknown>> = {
  slug_taken: () => new CaError('slug_taken', 'Slug web is taken.', { field: 'slug' }),
  bug: () => new Error('the password is swordfish'),
};

export const sampleRoutes: readonly ApiRoute[] = [
  route({
    ...row,
    method: 'GET',
    path: '/v1/samples',
    operationId: 'listSamples',
    permission: 'read',
    query: {
      limit: integerParameter({ minimum: 1, maximum: 200, default: 50 }, 'How many.'),
      state: enumParameter(['valid', 'revoked'], 'State.'),
      directory_id: idParameter('directory', 'Directory.'),
      acme_key_id: idOrNoneParameter('acme_key', 'Account key.'),
      expires_before: timeParameter('End.'),
    },
    requireOneOf: ['directory_id', 'acme_key_id'],
    replies: { 200: anything },
    handle: ({ query, caller }) => ok({ query, caller }),
  }),
  route({
    ...row,
    method: 'GET',
    path: '/v1/samples/:id',
    operationId: 'getSample',
    permission: 'read',
    params: { id: 'directory' },
    replies: { 200: anything },
    handle: ({ params }) => {
      throw notFound('directory', params.id);
    },
  }),
  route({
    ...row,
    method: 'POST',
    path: '/v1/samples',
    operationId: 'createSample',
    permission: 'write',
    body: createBody('directory', 'Sample', directoryFields),
    replies: { 201: anything },
    handle: ({ body }) => {
      const error = thrown[body.name]?.();
      if (error !== undefined) throw error;
      return created({ id: 'dir_01h455vb4pex5vsknk084sn02q', ...body });
    },
  }),
  route({
    ...row,
    method: 'PUT',
    path: '/v1/samples/:id',
    operationId: 'updateSample',
    permission: 'write',
    params: { id: 'directory' },
    body: updateBody('directory', 'Sample', directoryFields),
    replies: { 200: anything },
    handle: ({ body, params }) => ok({ body, params }),
  }),
  route({
    ...row,
    method: 'DELETE',
    path: '/v1/samples/:id',
    operationId: 'deleteSample',
    permission: 'admin',
    params: { id: 'directory' },
    replies: { 202: { description: 'Gone.' } },
    handle: accepted,
  }),
  route({
    ...row,
    method: 'DELETE',
    path: '/v1/samples/:id/rest',
    operationId: 'deleteRest',
    permission: 'write',
    params: { id: 'directory' },
    query: { state: required(enumParameter(['valid', 'revoked'], 'State.')) },
    replies: { 204: { description: 'Gone.' } },
    handle: ({ query }) => (query.state === 'valid' ? accepted() : noContent()),
  }),
  route({
    ...row,
    method: 'POST',
    path: '/v1/samples/:id/explain',
    operationId: 'explainSample',
    permission: 'write',
    params: { id: 'directory' },
    body: plainBody('SampleQuestion', closed({ identifiers: listOf(Type.String({ maxLength: 300 }), 2) })),
    replies: { 200: anything },
    handle: ({ body }) => ok({ identifiers: body.identifiers }),
  }),
  route({
    ...row,
    method: 'DELETE',
    path: '/v1/samples/:id/reason',
    operationId: 'revokeSample',
    permission: 'admin',
    params: { id: 'issued_cert' },
    body: optional(wrappedBody('issued_cert', 'SampleRevocation', closed(revocationReasonFields))),
    replies: { 200: anything },
    handle: ({ body }) => ok(body),
  }),
];
