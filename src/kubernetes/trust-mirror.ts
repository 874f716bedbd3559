// The ConfigMaps of all Directories once more, in the one namespace from which trust-manager reads.
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { SourceError, type TrustMirror } from '../operator/ports.ts';
import { API_GROUP, type Resource } from '../resources/resource.ts';
import { corePath, MERGE } from './api-paths.ts';
import type { ClusterRequests } from './client.ts';
import { deleteAsFound } from './delete-as-found.ts';
import type { KubernetesObject } from './kubernetes-object.ts';
import { isMadeByUs, MANAGED_BY_US } from './managed-by.ts';
import { asSource, orUndefined } from './source-errors.ts';

type Stored = KubernetesObject & { readonly data?: Readonly<Record<string, string>> };

/** What a Bundle selects; its value names the Directory. */
const TRUST_LABEL = `${API_GROUP}/trust`;
/** The Directory in full. */
const DIRECTORY = `${API_GROUP}/directory`;
const LONGEST_LABEL = 63;
const LONGEST_NAME = 253;

export function clusterTrustMirror({
  cluster,
  namespace,
}: {
  cluster: ClusterRequests;
  namespace: string;
}): TrustMirror {
  const told = new Set<string>();
  const at = (name?: string): string => corePath('configmaps', namespace, name);
  const find = async (directory: Resource, signal: AbortSignal): Promise<Stored | undefined> => {
    const path = at(nameOf(directory));
    const found = await orUndefined(cluster.request<Stored>({ method: 'GET', path, signal }));
    if (found === undefined || isOf(directory, found)) return found;
    throw new SourceError(
      'foreign',
      `ConfigMap ${namespace}/${nameOf(directory)} is there, and was not made for this object. Delete it.`,
    );
  };
  const publish: TrustMirror['publish'] = async (directory, data, signal) => {
    const metadata = { name: nameOf(directory), labels: labelsOf(directory), annotations: annotationsOf(directory) };
    const found = await find(directory, signal);
    if (found === undefined) {
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...metadata, namespace }, data };
      await cluster.request({ method: 'POST', path: at(), body, signal });
    } else if (!isDeepStrictEqual(found.data, data) || found.metadata.labels?.[TRUST_LABEL] !== textOf(directory)) {
      const { resourceVersion } = found.metadata;
      const strays = Object.fromEntries(Object.keys(found.data ?? {}).map((key) => [key, null]));
      const body = { metadata: { ...metadata, resourceVersion }, data: { ...strays, ...data } };
      await cluster.request({ method: 'PATCH', path: at(metadata.name), contentType: MERGE, body, signal });
    }
    told.add(directory.metadata.uid);
  };
  const remove: TrustMirror['remove'] = async (directory, signal) => {
    const found = await find(directory, signal).catch((error: unknown) => {
      // A stranger's stays.
      if (error instanceof SourceError && error.refusal === 'foreign') return undefined;
      throw error;
    });
    if (found !== undefined) await deleteAsFound(cluster, at(nameOf(directory)), found, signal);
    told.delete(directory.metadata.uid);
  };
  return {
    isTold: ({ metadata }) => told.has(metadata.uid),
    publish: (...given) => asSource(publish(...given)),
    remove: (...given) => asSource(remove(...given)),
  };
}

const fullName = ({ metadata }: Resource, separator: string): string =>
  `${metadata.namespace}${separator}${metadata.name}`;
const textOf = (directory: Resource): string => shortened(fullName(directory, '.'), LONGEST_LABEL);
const nameOf = (directory: Resource): string => shortened(`${fullName(directory, '.')}-acme`, LONGEST_NAME);
const labelsOf = (directory: Resource) => ({ ...MANAGED_BY_US, [TRUST_LABEL]: textOf(directory) });
const annotationsOf = (directory: Resource) => ({ [DIRECTORY]: fullName(directory, '/') });

const isOf = (directory: Resource, found: Stored): boolean =>
  isMadeByUs(found) && found.metadata.annotations?.[DIRECTORY] === fullName(directory, '/');

/** What is too long ends in its digest, so that two of them stay two. */
function shortened(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return `${text.slice(0, longest - digest.length - 1).replace(/[^a-z0-9]+$/, '')}-${digest}`;
}
