// What users declare in a cluster, from the root to the client's token, and how it comes out.

import { resourcePath } from '../../src/kubernetes/api-paths.ts';
import type { Cluster } from '../../src/kubernetes/client.ts';
import { ClusterError } from '../../src/kubernetes/cluster-error.ts';
import { API_VERSION, type Condition, type KindName } from '../../src/resources/resource.ts';
import { eventually } from './eventually.ts';

export type Declared = {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: KindName;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
};

export type Live = Declared & {
  readonly metadata: {
    readonly uid: string;
    readonly generation: number;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
  };
  readonly status: Readonly<Record<string, unknown>> & {
    readonly observedGeneration: number;
    readonly conditions?: readonly Condition[];
    readonly lastHandledReconcileAt?: string;
  };
};

/** Where, and with what label. */
export type Place = { readonly namespace: string; readonly labels?: Readonly<Record<string, string>> };

const declare = ({ namespace, labels }: Place, kind: KindName, name: string, spec: Declared['spec']): Declared => ({
  apiVersion: API_VERSION,
  kind,
  metadata: { name, namespace, ...(labels && { labels }) },
  spec,
});

export const aRoot = (place: Place, name = 'root', spec: Declared['spec'] = {}): Declared =>
  declare(place, 'SigningCert', name, {
    certType: 'root',
    keyAvailability: 'online',
    privateKeyType: 'ec_256',
    ...spec,
  });

export const anIssuing = (place: Place, name = 'issuing', spec: Declared['spec'] = {}): Declared =>
  aRoot(place, name, { certType: 'intermediate', signingCertRef: { name: 'root' }, ...spec });

/** Its slug is unique in the whole service: that of the namespace. */
export const aDirectory = (place: Place, name = 'web', spec: Declared['spec'] = {}): Declared =>
  declare(place, 'Directory', name, {
    slug: `${place.namespace}-${name}`,
    signingCertRef: { name: 'issuing' },
    allowedDnsIdentifiers: ['**.corp.example'],
    certMaxDays: 30,
    allowedNamespaces: { from: 'All' },
    ...spec,
  });

export const aBinding = (place: Place, name = 'shop', spec: Declared['spec'] = {}): Declared =>
  declare(place, 'ExternalBinding', name, {
    directoryRef: { name: 'web' },
    orderValidations: 'auto_approve',
    ...spec,
  });

export const anAcmeKey = (place: Place, name = 'edge', spec: Declared['spec'] = {}): Declared =>
  declare(place, 'AcmeKey', name, {
    directoryRef: { name: 'web' },
    contacts: ['mailto:edge@corp.example'],
    generate: { keyType: 'ec_256' },
    ...spec,
  });

/** One of each, and the intermediate. */
export const aChain = (place: Place): readonly Declared[] => [
  aRoot(place),
  anIssuing(place),
  aDirectory(place),
  aBinding(place),
  anAcmeKey(place),
];

const pathOf = ({ kind, metadata: { namespace, name } }: Declared): string => resourcePath(kind, namespace, name);

export const create = (admin: Cluster, { ...object }: Declared): Promise<Live> =>
  admin.request({ method: 'POST', path: resourcePath(object.kind, object.metadata.namespace), body: object });

export const createAll = (admin: Cluster, objects: readonly Declared[]): Promise<readonly Live[]> =>
  Promise.all(objects.map((object) => create(admin, object)));

export const live = (admin: Cluster, object: Declared): Promise<Live> =>
  admin.request({ method: 'GET', path: pathOf(object) });

/** Undefined where there is none. */
const liveOrGone = (admin: Cluster, object: Declared): Promise<Live | undefined> =>
  live(admin, object).catch((error: unknown) => {
    if (error instanceof ClusterError && error.code === 404) return undefined;
    throw error;
  });

/** A merge patch. */
export const change = (admin: Cluster, object: Declared, patch: object): Promise<Live> =>
  admin.request({
    method: 'PATCH',
    path: pathOf(object),
    contentType: 'application/merge-patch+json',
    body: patch,
  });

export const remove = (admin: Cluster, object: Declared): Promise<unknown> =>
  admin.request({ method: 'DELETE', path: pathOf(object) });

export const readyOf = ({ status }: Live): Condition | undefined =>
  status.conditions?.find(({ type }) => type === 'Ready');

/** Of this generation. */
const isReady = (object: Live): boolean =>
  object.status.observedGeneration === object.metadata.generation && readyOf(object)?.status === 'True';

/** As they are then. */
export async function untilReady(
  admin: Cluster,
  objects: readonly Declared[],
  deadlineMs = 30_000,
): Promise<readonly Live[]> {
  const ready: Live[] = [];
  for (const object of objects) {
    let seen = await live(admin, object);
    const holds = async (): Promise<boolean> => {
      seen = await live(admin, object);
      return isReady(seen);
    };
    await eventually(`${object.kind} ${object.metadata.name} is ready`, holds, deadlineMs).catch((error: Error) => {
      throw new Error(`${error.message} It says: ${JSON.stringify(seen.status)}`);
    });
    ready.push(seen);
  }
  return ready;
}

export const untilGone = async (admin: Cluster, objects: readonly Declared[], deadlineMs = 30_000): Promise<void> => {
  for (const object of objects) {
    const isGone = async (): Promise<boolean> => (await liveOrGone(admin, object)) === undefined;
    await eventually(`${object.kind} ${object.metadata.name} is gone`, isGone, deadlineMs);
  }
};
