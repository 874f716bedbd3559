// /v1/directories: ACME endpoints and their policies.
import { createDirectory } from '../core/create-directory.ts';
import { deleteDirectory } from '../core/delete-directory.ts';
import { type DirectoryView, getDirectory, listDirectories, type SingleDirectoryView } from '../core/directories.ts';
import { canonicalDirectory } from '../core/directory-policy.ts';
import { formatId } from '../core/ids.ts';
import { updateDirectory } from '../core/update-directory.ts';
import { type DirectoryUpdate, directoryFields, usualDays } from '../resources/fields.ts';
import type { FieldProblem } from '../schema/validator.ts';
import type { UnreadFields } from './body.ts';
import { withUuid } from './body-ids.ts';
import { listRoute } from './paging.ts';
import { idParameter } from './parameters.ts';
import { type ApiRoute, accepted, created, ok, route } from './route.ts';
import { resourceShapes } from './shapes.ts';

const shapes = resourceShapes('directory', 'Directory', directoryFields, {
  create: { rules: (sound, sent) => directoryProblems(sound, sent, usualDays) },
  update: { rules: directoryProblems, example: { allowed_dns_identifiers: ['**.corp.example'], cert_max_days: 30 } },
});
const one = { description: 'The directory.', schema: shapes.single };
const tag = 'Directories';
const path = '/v1/directories';
const params = { id: 'directory' } as const;

export const directoryRoutes: readonly ApiRoute[] = [
  listRoute({
    path,
    operationId: 'listDirectories',
    tag,
    summary: 'List directories',
    permission: 'read',
    kind: 'directory',
    filters: { signing_cert_id: idParameter('signing_cert', 'Only directories that this CA cert signs for.') },
    sorts: ['id', 'name'],
    item: shapes.listed,
    list: ({ ca, filters, page }) => listDirectories(ca, { signingCertId: filters.signing_cert_id }, page),
    render: renderListed,
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    operationId: 'getDirectory',
    tag,
    summary: 'Retrieve a directory',
    permission: 'read',
    params,
    replies: { 200: one },
    handle: async ({ ca, params: { id } }) => ok(render(await getDirectory(ca, id))),
  }),
  route({
    method: 'POST',
    path,
    operationId: 'createDirectory',
    tag,
    summary: 'Create a directory',
    description:
      'A slug is unique for ever: that of a deleted directory is taken over only with reuse_slug. Patterns and ranges are shown in their canonical form.',
    permission: 'admin',
    body: shapes.create,
    replies: { 201: one },
    handle: async ({ ca, caller, body }) =>
      created(render(await createDirectory(ca, caller, withUuid('signing_cert', body)))),
  }),
  route({
    method: 'PUT',
    path: `${path}/:id`,
    operationId: 'updateDirectory',
    tag,
    summary: 'Change a directory',
    description:
      'Fields that are not sent stay as they are. The change binds the next request, and open orders when they are finalized. After a change of slug the old one goes on working; caa_tag stays. Another signing_cert_id is a rollover: new orders use it at once.',
    permission: 'admin',
    params,
    body: shapes.update,
    replies: { 200: one },
    handle: async ({ ca, caller, params: { id }, body }) =>
      ok(render(await updateDirectory(ca, caller, id, withUuid('signing_cert', body)))),
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    operationId: 'deleteDirectory',
    tag,
    summary: 'Delete a directory',
    description:
      'Its ACME endpoint answers 404 from then on and its unused EAB tokens are deleted; accounts, orders and issued certs stay readable, and issued certs stay on the CRL.',
    permission: 'admin',
    params,
    replies: { 202: { description: 'The directory is gone.' } },
    handle: async ({ ca, caller, params: { id } }) => {
      await deleteDirectory(ca, caller, id);
      return accepted();
    },
  }),
];

/** Of a limit that is not known here, or does not fit its own schema, nothing is said. */
function directoryProblems(
  sound: UnreadFields,
  sent: UnreadFields,
  usual: Partial<typeof usualDays> = {},
): readonly FieldProblem[] {
  const { certMinDays = 0, certMaxDays = Number.POSITIVE_INFINITY } = usual;
  const result = canonicalDirectory(sound as DirectoryUpdate, {
    certMinDays: 'cert_min_days' in sent ? 0 : certMinDays,
    certMaxDays: 'cert_max_days' in sent ? Number.POSITIVE_INFINITY : certMaxDays,
  });
  return result.ok ? [] : result.problems;
}

function renderListed({ id, directoryUrl, fields }: DirectoryView) {
  return {
    id: formatId('dir', id),
    object: 'directory',
    ...fields,
    signing_cert_id: formatId('scrt', fields.signing_cert_id),
    directory_url: directoryUrl,
  };
}

const render = (view: SingleDirectoryView) => ({
  ...renderListed(view),
  cert_chain: view.certChain,
  root_cert: view.rootCert ?? null,
});
