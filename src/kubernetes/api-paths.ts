// Where the API server keeps what we read and write.
import { kinds } from '../resources/kinds.ts';
import { API_VERSION, type KindName } from '../resources/resource.ts';

/** Names are checked by whoever made them; a path has no room for anything else. */
const part = encodeURIComponent;

const below = (base: string, namespace: string | undefined, plural: string, name: string | undefined): string =>
  [
    base,
    ...(namespace === undefined ? [] : ['namespaces', part(namespace)]),
    plural,
    ...(name === undefined ? [] : [part(name)]),
  ].join('/');

/** The collection of a kind in one namespace, or in all; or one object of it. */
export const resourcePath = (kind: KindName, namespace: string | undefined, name?: string): string =>
  below(`/apis/${API_VERSION}`, namespace, kinds[kind].plural, name);

/** All Secrets, or those of a namespace. */
export const secretsPath = (namespace: string | undefined): string => below('/api/v1', namespace, 'secrets', undefined);

export const corePath = (plural: 'secrets' | 'configmaps', namespace: string, name?: string): string =>
  below('/api/v1', namespace, plural, name);

export const eventsPath = (namespace: string, name?: string): string =>
  below('/apis/events.k8s.io/v1', namespace, 'events', name);

export const leasePath = (namespace: string, name?: string): string =>
  below('/apis/coordination.k8s.io/v1', namespace, 'leases', name);

const issuerPlurals = { Issuer: 'issuers', ClusterIssuer: 'clusterissuers' } as const;

export const issuerPath = (kind: keyof typeof issuerPlurals, namespace?: string, name?: string): string =>
  below('/apis/cert-manager.io/v1', namespace, issuerPlurals[kind], name);

export const NAMESPACES = '/api/v1/namespaces';

export const APPLY = 'application/apply-patch+yaml';
export const MERGE = 'application/merge-patch+json';
