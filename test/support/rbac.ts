// What the API server's RBAC allows somebody.
import { eventually } from './eventually.ts';
import { type Identity, type TestCluster, userNameOf } from './plane/test-cluster.ts';

/** Of a SubjectAccessReview: `verb`, `group`, `resource`, and where it matters `subresource`, `namespace`, `name`. */
export type Attributes = Readonly<Record<string, string>>;

export async function isAllowed({ admin }: TestCluster, identity: Identity, asked: Attributes): Promise<boolean> {
  const ofServiceAccount =
    'serviceAccount' in identity ? ['system:serviceaccounts', `system:serviceaccounts:${identity.namespace}`] : [];
  const groups = [...ofServiceAccount, 'system:authenticated'];
  const { status } = await admin.request<{ status: { allowed: boolean } }>({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: userNameOf(identity), groups, resourceAttributes: asked },
    },
  });
  return status.allowed;
}

type Rule = {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
};
type Named = { readonly kind: string; readonly metadata: { readonly name: string; readonly namespace?: string } };
type Role = Named & { readonly rules: readonly Rule[] };
type Binding = Named & {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly name: string; readonly namespace: string }[];
};

/** RBAC follows its objects by a watch: resolves when every binding among them has an effect. */
export async function untilBound(cluster: TestCluster, manifests: readonly Named[]): Promise<void> {
  const bindings = manifests.filter((manifest): manifest is Binding => manifest.kind.endsWith('RoleBinding'));
  await Promise.all(
    bindings.flatMap((binding) =>
      binding.subjects.map(({ name, namespace }) => {
        const isBound = (): Promise<boolean> =>
          isAllowed(cluster, { serviceAccount: name, namespace }, firstOf(binding, manifests));
        return eventually(`${binding.metadata.name} is bound`, isBound, 1_000);
      }),
    ),
  );
}

/** Of a role that the cluster brings, which is system:auth-delegator, what we bind it for. */
const ofTheCluster: Rule = {
  apiGroups: ['authentication.k8s.io'],
  resources: ['tokenreviews'],
  verbs: ['create'],
};

function firstOf({ roleRef, metadata }: Binding, manifests: readonly Named[]): Attributes {
  const role = manifests.find(
    (manifest): manifest is Role =>
      manifest.kind === roleRef.kind &&
      manifest.metadata.name === roleRef.name &&
      manifest.metadata.namespace === (roleRef.kind === 'Role' ? metadata.namespace : undefined),
  );
  const { apiGroups, resources, verbs, resourceNames } = role?.rules[0] ?? ofTheCluster;
  const { namespace } = metadata;
  return {
    group: apiGroups[0] ?? '',
    resource: resources[0] ?? '',
    verb: verbs[0] ?? '',
    ...(resourceNames?.[0] !== undefined && { name: resourceNames[0] }),
    ...(namespace !== undefined && { namespace }),
  };
}
