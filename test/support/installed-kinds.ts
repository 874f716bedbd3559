// Our kinds in a cluster of tests, and what its API server says of objects of them.
import { crdFiles } from '../../src/commands/crd-files.ts';
import { ClusterError } from '../../src/kubernetes/cluster-error.ts';
import { kinds } from '../../src/resources/kinds.ts';
import { API_VERSION, type KindName } from '../../src/resources/resource.ts';
import { manifestOf } from './manifest-of.ts';
import type { TestCluster } from './plane/test-cluster.ts';

export const installKinds = (cluster: TestCluster): Promise<void> =>
  cluster.applyCrds(
    crdFiles()
      .map(({ text }) => text)
      .join('---\n'),
  );

export type Stored = {
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string; readonly namespace: string };
  readonly spec: object;
  readonly status?: object;
};

const STRICT = 'fieldValidation=Strict';

export const pathOf = (kind: KindName, namespace: string, name = ''): string =>
  `/apis/${API_VERSION}/namespaces/${namespace}/${kinds[kind].plural}${name === '' ? '' : `/${name}`}`;

/** `isDry`: asked, not stored. */
export const create = (
  { admin }: TestCluster,
  kind: KindName,
  spec: unknown,
  { namespace, name = 'it', isDry = false }: { namespace: string; name?: string; isDry?: boolean },
): Promise<Stored> =>
  admin.request({
    method: 'POST',
    path: `${pathOf(kind, namespace)}?${STRICT}${isDry ? '&dryRun=All' : ''}`,
    body: manifestOf(kind, spec, name, namespace),
  });

/** Asked, not stored. */
export const replace = ({ admin }: TestCluster, kind: KindName, stored: Stored, spec: unknown): Promise<Stored> =>
  admin.request({
    method: 'PUT',
    path: `${pathOf(kind, stored.metadata.namespace, stored.metadata.name)}?${STRICT}&dryRun=All`,
    body: { ...stored, spec },
  });

/** Server-side apply, of the fields that a manager means. `subresource` is `/status` for a status. */
export const apply = (
  { admin }: TestCluster,
  kind: KindName,
  { namespace, name }: { namespace: string; name: string },
  fields: { readonly spec?: object; readonly status?: object },
  { manager, subresource = '' }: { manager: string; subresource?: '' | '/status' },
): Promise<Stored> =>
  admin.request({
    method: 'PATCH',
    path: `${pathOf(kind, namespace, name)}${subresource}?fieldManager=${manager}&${STRICT}`,
    contentType: 'application/apply-patch+yaml',
    body: { apiVersion: API_VERSION, kind, metadata: { name, namespace }, ...fields },
  });

/** The words of a refusal; undefined where there is none. */
export const refusal = (request: Promise<unknown>): Promise<string | undefined> =>
  request.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof ClusterError && (error.code === 422 || error.code === 400)) return error.message;
      throw error;
    },
  );
