// What the program needs to be allowed in a cluster: the rights that the chart gives.
import { kinds } from '../resources/kinds.ts';
import { API_GROUP, kindNames } from '../resources/resource.ts';

export type ClusterNeeds = {
  /** Of the release. */
  readonly namespace: string;
  /** Undefined: the whole cluster. */
  readonly watchNamespaces: readonly string[] | undefined;
  readonly isInjecting: boolean;
  readonly followsSecrets: boolean;
  /** Where trust is copied to. */
  readonly trustNamespace: string | undefined;
};

export type Right = {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** Undefined: in all of them, or of what is in none. */
  readonly namespace?: string;
  readonly name?: string;
};

/** For tokens of ServiceAccounts. */
export const reviewRights: readonly Right[] = [
  { verb: 'create', group: 'authentication.k8s.io', resource: 'tokenreviews' },
  { verb: 'create', group: 'authorization.k8s.io', resource: 'subjectaccessreviews' },
];

export function rightsOf(needs: ClusterNeeds): readonly Right[] {
  const { namespace, watchNamespaces, isInjecting, trustNamespace } = needs;
  return [
    // CA keys are Secrets.
    ...each(['get', 'list', 'create', 'delete'], { group: '', resource: 'secrets', namespace }),
    // Leadership among replicas.
    { verb: 'create', group: LEASES, resource: 'leases', namespace },
    ...each(['get', 'update'], { group: LEASES, resource: 'leases', namespace, name: 'acmery' }),
    ...(watchNamespaces ?? [undefined]).flatMap((watched) => watchedRights(watched, needs)),
    ...(watchNamespaces === undefined ? each(['list', 'watch'], { group: '', resource: 'namespaces' }) : []),
    ...(watchNamespaces === undefined && isInjecting
      ? each(['list', 'watch', 'patch'], { group: CERT_MANAGER, resource: 'clusterissuers' })
      : []),
    ...(trustNamespace !== undefined
      ? each(['get', 'create', 'patch', 'delete'], { group: '', resource: 'configmaps', namespace: trustNamespace })
      : []),
  ];
}

const LEASES = 'coordination.k8s.io';
const CERT_MANAGER = 'cert-manager.io';

function watchedRights(watched: string | undefined, { isInjecting, followsSecrets }: ClusterNeeds): readonly Right[] {
  const place = watched === undefined ? {} : { namespace: watched };
  const ours = kindNames.flatMap((kind) => [
    ...each(['get', 'list', 'watch', 'patch'], { group: API_GROUP, resource: kinds[kind].plural, ...place }),
    { verb: 'patch', group: API_GROUP, resource: kinds[kind].plural, subresource: 'status', ...place },
  ]);
  return [
    ...ours,
    ...each(['get', 'create', 'patch', 'delete'], { group: '', resource: 'secrets', ...place }),
    ...(followsSecrets ? each(['list', 'watch'], { group: '', resource: 'secrets', ...place }) : []),
    ...each(['get', 'create', 'patch'], { group: '', resource: 'configmaps', ...place }),
    ...each(['create', 'patch'], { group: 'events.k8s.io', resource: 'events', ...place }),
    ...(isInjecting ? each(['list', 'watch', 'patch'], { group: CERT_MANAGER, resource: 'issuers', ...place }) : []),
  ];
}

const each = (verbs: readonly string[], right: Omit<Right, 'verb'>): readonly Right[] =>
  verbs.map((verb) => ({ verb, ...right }));
