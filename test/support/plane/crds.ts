// Installs kinds and waits until the API server serves them.
import { loadAll } from 'js-yaml';
import type { Cluster } from '../../../src/kubernetes/client.ts';
import { ClusterError } from '../../../src/kubernetes/cluster-error.ts';
import { eventually } from '../eventually.ts';

type Crd = {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
};

const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** YAML of CustomResourceDefinitions, nothing else. Applied twice at once, or again, it does no harm. */
export async function applyCrds(admin: Cluster, yaml: string): Promise<void> {
  const crds = loadAll(yaml).filter((document): document is Crd => document !== null && document !== undefined);
  await Promise.all(
    crds.map((crd) =>
      admin.request({
        method: 'PATCH',
        path: `${path}/${crd.metadata.name}?fieldManager=tests&force=true`,
        contentType: 'application/apply-patch+yaml',
        body: crd,
      }),
    ),
  );
  await Promise.all(crds.map((crd) => untilServed(admin, crd)));
}

async function untilServed(admin: Cluster, { metadata, spec }: Crd): Promise<void> {
  await eventually(`${metadata.name} is established`, async () => {
    const { status } = await admin.request<Crd>({ method: 'GET', path: `${path}/${metadata.name}` });
    return status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ?? false;
  });
  for (const { name, served } of spec.versions) {
    if (served) await eventually(`${metadata.name} ${name} is served`, () => isServed(admin, spec, name));
  }
}

/** Discovery follows a moment after the condition. */
async function isServed(admin: Cluster, { group, names }: Crd['spec'], version: string): Promise<boolean> {
  try {
    const { resources } = await admin.request<{ resources: readonly { name: string }[] }>({
      method: 'GET',
      path: `/apis/${group}/${version}`,
    });
    return resources.some(({ name }) => name === names.plural);
  } catch (error) {
    if (error instanceof ClusterError && error.code === 404) return false;
    throw error;
  }
}
