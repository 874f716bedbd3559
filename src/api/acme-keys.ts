// /v1/acme_keys: account keys.
import { accountKeyProblems } from '../core/account-key.ts';
import { type AcmeKeyView, getAcmeKey, listAcmeKeys } from '../core/acme-keys.ts';
import { createAcmeKey } from '../core/create-acme-key.ts';
import { CaError } from '../core/errors.ts';
import { formatId } from '../core/ids.ts';
import { revokeAcmeKey } from '../core/revoke-acme-key.ts';
import { updateAcmeKey } from '../core/update-acme-key.ts';
import { acmeKeyFields, acmeKeyStates } from '../resources/fields.ts';
import { revocationReasonFields } from '../resources/revocation-reason-fields.ts';
import { closed, Type } from '../schema/define.ts';
import { requirePermission } from './authenticate.ts';
import { type FieldRules, optional, wrappedBody } from './body.ts';
import { withUuid } from './body-ids.ts';
import { listRoute } from './paging.ts';
import { enumParameter, idParameter, required } from './parameters.ts';
import { withReason } from './revocation-body.ts';
import { type ApiRoute, created, ok, route } from './route.ts';
import { resourceShapes } from './shapes.ts';

const keyRules: FieldRules = ({ public_key: pem }) => (typeof pem === 'string' ? accountKeyProblems(pem) : []);
const shapes = resourceShapes('acme_key', 'AcmeKey', acmeKeyFields, {
  create: { rules: keyRules },
  update: { rules: keyRules, example: { order_validations: 'auto_approve' } },
});
const one = { description: 'The account key.', schema: shapes.single };
const tag = 'Account keys';
const path = '/v1/acme_keys';
const params = { id: 'acme_key' } as const;

const revocation = optional(
  withReason(
    wrappedBody(
      'acme_key',
      'AcmeKeyRevocation',
      closed({
        revoke_certs: Type.Optional(
          Type.Boolean({ description: 'Also revokes its issued certs, as admins may; they stay valid otherwise.' }),
        ),
        ...revocationReasonFields,
      }),
    ),
  ),
);

export const acmeKeyRoutes: readonly ApiRoute[] = [
  listRoute({
    path,
    operationId: 'listAcmeKeys',
    tag,
    summary: 'List account keys',
    permission: 'read',
    kind: 'acme_key',
    filters: {
      directory_id: required(idParameter('directory', 'Only account keys of this directory.')),
      state: enumParameter(acmeKeyStates, 'Only account keys in this state.'),
    },
    sorts: ['id', 'name'],
    item: shapes.listed,
    list: ({ ca, filters: { directory_id: directoryId, state }, page }) =>
      listAcmeKeys(ca, { directoryId, state }, page),
    render,
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    operationId: 'getAcmeKey',
    tag,
    summary: 'Retrieve an account key',
    permission: 'read',
    params,
    replies: { 200: one },
    handle: async ({ ca, params: { id } }) => ok(render(await getAcmeKey(ca, id))),
  }),
  route({
    method: 'POST',
    path,
    operationId: 'createAcmeKey',
    tag,
    summary: 'Register an account key',
    description:
      'The ACME client that holds the private key has an account from then on and needs no EAB token. A key that is or ever was used anywhere in the service is refused.',
    permission: 'write',
    body: shapes.create,
    replies: { 201: one },
    handle: async ({ ca, caller, body }) =>
      created(render(await createAcmeKey(ca, caller, withUuid('directory', body)))),
  }),
  route({
    method: 'PUT',
    path: `${path}/:id`,
    operationId: 'updateAcmeKey',
    tag,
    summary: 'Change an account key',
    description:
      'Fields that are not sent stay as they are. A new public_key withdraws the old one for ever. When order_validations goes back to challenge, open orders that were approved without one become invalid.',
    permission: 'write',
    params,
    body: shapes.update,
    replies: { 200: one },
    handle: async ({ ca, caller, params: { id }, body }) =>
      ok(render(await updateAcmeKey(ca, caller, id, withUuid('directory', body)))),
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    operationId: 'revokeAcmeKey',
    tag,
    summary: 'Revoke an account key',
    description:
      'The account ends for good, with its open orders and authorizations, and its public key is never accepted again. A reason is that of its issued certs, so it needs revoke_certs, and that needs permission admin.',
    permission: 'write',
    params,
    body: revocation,
    replies: { 200: one },
    handle: async ({ ca, caller, params: { id }, body }) => {
      if (body.revoke_certs === true) {
        requirePermission(caller, 'admin');
        return ok(render(await revokeAcmeKey(ca, caller, id, { certificates: body.chosen })));
      }
      if (body.reason !== undefined || body.revoke_reason !== undefined) throw reasonForNothing();
      return ok(render(await revokeAcmeKey(ca, caller, id)));
    },
  }),
];

function reasonForNothing(): CaError {
  const detail = 'A reason is that of revoked certs, and no certs are to be revoked; send revoke_certs: true too.';
  return new CaError('invalid', detail, { problems: [{ field: 'revoke_certs', code: 'required', message: detail }] });
}

function render(view: AcmeKeyView) {
  return {
    id: formatId('acmk', view.id),
    object: 'acme_key',
    directory_id: formatId('dir', view.directoryId),
    name: view.name === '' ? null : view.name,
    contacts: view.contacts,
    public_key: view.publicKey,
    jwk_thumbprint: view.thumbprint,
    kid: view.kid,
    order_validations: view.orderValidations,
    state: view.state,
    used_on: view.usedOn ?? null,
  };
}
