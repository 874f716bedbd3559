// Deletes an object of the cluster as it was found: nothing that was changed or made anew since.
import type { ClusterRequests } from './client.ts';
import type { KubernetesObject } from './kubernetes-object.ts';
import { orUndefined } from './source-errors.ts';

/** One that is gone meanwhile is no failure. Throws ClusterError. */
export async function deleteAsFound(
  cluster: ClusterRequests,
  path: string,
  { metadata: { uid, resourceVersion } }: KubernetesObject,
  signal: AbortSignal,
): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } };
  await orUndefined(cluster.request({ method: 'DELETE', path, body, signal }));
}
