// /v1/signing_certs: the CA certs, made, imported, looked at, renamed and deleted.
import { createSigningCert } from '../core/create-signing-cert.ts';
import { deleteSigningCert } from '../core/delete-signing-cert.ts';
import { formatId } from '../core/ids.ts';
import { getSigningCertCsr } from '../core/request-signing-cert.ts';
import { revokeSigningCert } from '../core/revoke-signing-cert.ts';
import { getRollover } from '../core/rollover.ts';
import {
  getSigningCert,
  listSigningCerts,
  type SigningCertView,
  type SingleSigningCertView,
} from '../core/signing-certs.ts';
import { updateSigningCert } from '../core/update-signing-cert.ts';
import { uploadCrl } from '../core/upload-crl.ts';
import { certTypes, signingCertFields } from '../resources/fields.ts';
import { revocationReasonFields } from '../resources/revocation-reason-fields.ts';
import { type SigningCertInput, signingCertVariant } from '../resources/signing-cert-variants.ts';
import { closed, Type } from '../schema/define.ts';
import { formatSeconds } from '../schema/timestamp.ts';
import { optional, wrappedBody } from './body.ts';
import { withUuid } from './body-ids.ts';
import { listRoute } from './paging.ts';
import { enumParameter, idParameter } from './parameters.ts';
import { withReason } from './revocation-body.ts';
import { type ApiRoute, accepted, content, created, ok, route } from './route.ts';
import { named, resourceShapes } from './shapes.ts';

const PEM = 'application/x-pem-file';
const CRL_EXAMPLE = '-----BEGIN X509 CRL-----\nMIIB...\n-----END X509 CRL-----\n';
const shapes = resourceShapes('signing_cert', 'SigningCert', signingCertFields, {
  create: {
    // The two fields that choose a way to create must be sound; of the others it counts whether they were sent.
    rules: ({ cert_type, key_availability }, sent) =>
      cert_type === undefined || key_availability === undefined
        ? []
        : signingCertVariant(sent as SigningCertInput).problems,
    example: { cert_type: 'root', key_availability: 'online', private_key_type: 'ec_384', name: 'Corp Root' },
  },
  update: { example: { name: 'Corp Root' } },
});
const one = { description: 'The CA cert.', schema: shapes.single };
const tag = 'CA certs';
const path = '/v1/signing_certs';
const permission = 'admin';
const CRL_CAP = 32 * 1024 * 1024;
// The cap of the body bounds it: counting the characters of so long a text would hold up everybody else.
const crl = Type.String({ minLength: 1, description: 'The CRL in PEM.', examples: [CRL_EXAMPLE] });
const params = { id: 'signing_cert' } as const;
const revocation = optional(
  withReason(wrappedBody('signing_cert', 'SigningCertRevocation', closed(revocationReasonFields))),
);
const rollover = named(
  'SigningCertRollover',
  closed({
    live_leaves: Type.Integer({ minimum: 0, description: 'Leaves that are neither revoked nor expired.' }),
    at_least: Type.Boolean({ description: 'There are more than that: counting ends at 100,000.' }),
  }),
);

export const signingCertRoutes: readonly ApiRoute[] = [
  listRoute({
    path,
    operationId: 'listSigningCerts',
    tag,
    summary: 'List CA certs',
    permission,
    kind: 'signing_cert',
    filters: {
      cert_type: enumParameter(certTypes, 'Only roots, or only intermediates.'),
      signing_cert_id: idParameter('signing_cert', 'Only those that this CA cert signed.'),
    },
    item: shapes.listed,
    list: ({ ca, filters, page }) =>
      listSigningCerts(ca, { certType: filters.cert_type, parentId: filters.signing_cert_id }, page),
    render: renderSigningCert,
  }),
  route({
    method: 'POST',
    path,
    operationId: 'createSigningCert',
    tag,
    summary: 'Create a CA cert',
    permission,
    description:
      'Generates a root, or an intermediate below `signing_cert_id`; or imports `public_cert`, with `private_key` where the ' +
      'key moves here (online) and without where it stays elsewhere (offline). An online intermediate with neither ' +
      '`signing_cert_id` nor `public_cert` gets a key and a CSR, and waits for its certificate.',
    body: shapes.create,
    replies: { 201: one },
    handle: async ({ ca, caller, body }) =>
      created(renderSingle(await createSigningCert(ca, caller, withUuid('signing_cert', body)))),
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    operationId: 'getSigningCert',
    tag,
    summary: 'Retrieve a CA cert',
    permission,
    params,
    replies: { 200: one },
    handle: async ({ ca, params: { id } }) => ok(renderSingle(await getSigningCert(ca, id))),
  }),
  route({
    method: 'PUT',
    path: `${path}/:id`,
    operationId: 'updateSigningCert',
    tag,
    summary: 'Rename a CA cert, or complete it',
    permission,
    description:
      '`name` may always change. `public_cert` may be given once to a CA cert that waits for the certificate of its CSR. ' +
      'Other fields may be repeated as they are.',
    params,
    body: shapes.update,
    replies: { 200: one },
    handle: async ({ ca, caller, params: { id }, body }) =>
      ok(renderSingle(await updateSigningCert(ca, caller, id, withUuid('signing_cert', body)))),
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    operationId: 'deleteSigningCert',
    tag,
    summary: 'Delete a CA cert',
    permission,
    description: 'It is gone from reads at once; its key is removed in the background. Not while it is in use.',
    params,
    replies: { 202: { description: 'It is deleted.' } },
    handle: async ({ ca, caller, params: { id } }) => {
      await deleteSigningCert(ca, caller, id);
      return accepted();
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id/csr`,
    operationId: 'getSigningCertCsr',
    tag,
    summary: 'Retrieve the CSR of a CA cert',
    permission,
    description: 'Only a CA cert whose certificate was asked for elsewhere has one.',
    params,
    replies: { 200: { description: 'The CSR in PEM.', mediaTypes: [PEM] } },
    handle: async ({ ca, params: { id } }) => content(PEM, await getSigningCertCsr(ca, id)),
  }),
  route({
    method: 'PUT',
    path: `${path}/:id/crl`,
    operationId: 'uploadSigningCertCrl',
    tag,
    summary: 'Publish the CRL of an offline CA cert',
    permission,
    description:
      'It has to be signed by this CA cert, complete, current, and no older than the one that it replaces. It is then at ' +
      'the URL that certificates of this service name. A CRL that is refused leaves the last one in place.',
    params,
    body: wrappedBody('signing_cert', 'SigningCertCrl', closed({ crl })),
    bodyCapBytes: CRL_CAP,
    replies: { 200: one },
    handle: async ({ ca, caller, params: { id }, body }) => ok(renderSingle(await uploadCrl(ca, caller, id, body.crl))),
  }),
  route({
    method: 'POST',
    path: `${path}/:id/revocation`,
    operationId: 'revokeSigningCert',
    tag,
    summary: 'Revoke an intermediate',
    permission,
    description:
      'It stands in the CRL of its parent from then on, and OCSP says so at once. It signs nothing more, and neither do CA ' +
      'certs below it; what it signed is not revoked by itself. Takes at most one of `reason` and `revoke_reason`; ' +
      'unspecified when neither is given. Not for a root, nor where the key of the parent is offline or elsewhere.',
    params,
    body: revocation,
    replies: { 200: { ...one, description: 'The CA cert, revoked.' } },
    handle: async ({ ca, caller, params: { id }, body: { chosen } }) =>
      ok(renderSingle(await revokeSigningCert(ca, caller, id, chosen))),
  }),
  route({
    method: 'GET',
    path: `${path}/:id/rollover`,
    operationId: 'getSigningCertRollover',
    tag,
    summary: 'Count what still lives of what a CA cert signed',
    permission,
    description:
      'Of the leaves that it signed itself. When a directory has moved to another CA cert and there are none left, this ' +
      'one can be deleted.',
    params,
    replies: { 200: { description: 'How many there are.', schema: rollover } },
    handle: async ({ ca, params: { id } }) => {
      const { liveLeaves, atLeast } = await getRollover(ca, id);
      return ok({ live_leaves: liveLeaves, at_least: atLeast });
    },
  }),
];

const renderSingle = (view: SingleSigningCertView) => ({ ...renderSigningCert(view), in_use: view.inUse });

function renderSigningCert(view: SigningCertView) {
  return {
    id: formatId('scrt', view.id),
    object: 'signing_cert',
    cert_type: view.certType,
    key_availability: view.keyAvailability,
    key_type: view.keyType,
    public_cert: view.publicCert ?? null,
    name: view.name,
    expires_at: view.expiresAt === undefined ? null : formatSeconds(view.expiresAt),
    signing_cert_id: view.signingCertId === undefined ? null : formatId('scrt', view.signingCertId),
    subject: view.subject,
    path_length: view.pathLength ?? null,
    name_constraints: view.nameConstraints ?? null,
    revoked_at: view.revokedAt === undefined ? null : formatSeconds(view.revokedAt),
    revoke_reason: view.revokeReason ?? null,
  };
}
