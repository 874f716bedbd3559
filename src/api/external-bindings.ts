// /v1/external_bindings: EAB tokens.
import { createExternalBinding } from '../core/create-external-binding.ts';
import { deleteExternalBinding } from '../core/delete-external-binding.ts';
import { type ExternalBindingView, getExternalBinding, listExternalBindings } from '../core/external-bindings.ts';
import { formatId } from '../core/ids.ts';
import { updateExternalBinding } from '../core/update-external-binding.ts';
import { externalBindingFields } from '../resources/fields.ts';
import { withUuid } from './body-ids.ts';
import { listRoute } from './paging.ts';
import { idOrNoneParameter, idParameter } from './parameters.ts';
import { type ApiRoute, created, noContent, ok, route } from './route.ts';
import { resourceShapes } from './shapes.ts';

const shapes = resourceShapes('external_binding', 'ExternalBinding', externalBindingFields, {
  update: { example: { order_validations: 'auto_approve' } },
});
const one = { description: 'The EAB token.', schema: shapes.single };
const tag = 'EAB tokens';
const path = '/v1/external_bindings';
const params = { id: 'external_binding' } as const;

export const externalBindingRoutes: readonly ApiRoute[] = [
  listRoute({
    path,
    operationId: 'listExternalBindings',
    tag,
    summary: 'List EAB tokens',
    permission: 'read',
    kind: 'external_binding',
    filters: {
      acme_key_id: idOrNoneParameter(
        'acme_key',
        'Only the token that this account key was made with; empty, together with another filter: only unused tokens.',
      ),
      directory_id: idParameter('directory', 'Only tokens of this directory.'),
    },
    requireOneOf: ['acme_key_id', 'directory_id'],
    sorts: ['id', 'name'],
    item: shapes.listed,
    list: ({ ca, caller, filters: { acme_key_id: acmeKeyId, directory_id: directoryId }, page }) =>
      listExternalBindings(ca, caller, { directoryId, acmeKeyId: acmeKeyId === '' ? null : acmeKeyId }, page),
    render: renderListed,
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    operationId: 'getExternalBinding',
    tag,
    summary: 'Retrieve an EAB token',
    permission: 'read',
    params,
    replies: { 200: one },
    handle: async ({ ca, caller, params: { id } }) => ok(render(await getExternalBinding(ca, caller, id))),
  }),
  route({
    method: 'POST',
    path,
    operationId: 'createExternalBinding',
    tag,
    summary: 'Create an EAB token',
    description:
      'A token lets one ACME client register one account. Its ACME key id is key_id where one is given, else the id of the token.',
    permission: 'write',
    body: shapes.create,
    replies: { 201: one },
    handle: async ({ ca, caller, body }) =>
      created(render(await createExternalBinding(ca, caller, withUuid('directory', body)))),
  }),
  route({
    method: 'PUT',
    path: `${path}/:id`,
    operationId: 'updateExternalBinding',
    tag,
    summary: 'Change an unused EAB token',
    description:
      'Name and order_validations may be changed while no account was registered with it; later every PUT fails.',
    permission: 'write',
    params,
    body: shapes.update,
    replies: { 200: one },
    handle: async ({ ca, caller, params: { id }, body }) =>
      ok(render(await updateExternalBinding(ca, caller, id, withUuid('directory', body)))),
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    operationId: 'deleteExternalBinding',
    tag,
    summary: 'Delete an unused EAB token',
    description: 'A token that was used is tied to its account key: delete that key instead.',
    permission: 'write',
    params,
    replies: { 204: { description: 'The token is gone.' } },
    handle: async ({ ca, caller, params: { id } }) => {
      await deleteExternalBinding(ca, caller, id);
      return noContent();
    },
  }),
];

function renderListed(view: ExternalBindingView) {
  return {
    id: formatId('eab', view.id),
    object: 'external_binding',
    directory_id: formatId('dir', view.directoryId),
    name: view.name === '' ? null : view.name,
    order_validations: view.orderValidations,
    key_id: view.keyId ?? null,
    acme_key_id: view.acmeKeyId === undefined ? null : formatId('acmk', view.acmeKeyId),
    ...(view.macKey !== undefined && { mac_key: view.macKey }),
  };
}

const render = (view: ExternalBindingView) => ({ ...renderListed(view), directory_url: view.directoryUrl });
