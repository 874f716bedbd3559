// Objects of a real API server that tests begin with.
import type { Cluster } from '../../src/kubernetes/client.ts';
import { API_VERSION, type Resource } from '../../src/resources/resource.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { capturedLog } from './captured-log.ts';

type Given = {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
};

export const bindingsPath = (namespace: string): string =>
  `/apis/${API_VERSION}/namespaces/${namespace}/externalbindings`;

/** An ExternalBinding, which needs no other object to be accepted. */
export const givenBinding = (
  admin: Cluster,
  namespace: string,
  name: string,
  metadata: Given = {},
): Promise<Resource> =>
  admin.request<Resource>({
    method: 'POST',
    path: bindingsPath(namespace),
    body: {
      apiVersion: API_VERSION,
      kind: 'ExternalBinding',
      metadata: { name, ...metadata },
      spec: { directoryRef: { name: 'web' } },
    },
  });

export const read = <T = Resource>(admin: Cluster, path: string): Promise<T> =>
  admin.request<T>({ method: 'GET', path });

export const deleted = (admin: Cluster, path: string): Promise<unknown> => admin.request({ method: 'DELETE', path });

export function telemetry() {
  const captured = capturedLog();
  const metrics = createMetrics();
  return { ...captured, metrics, events: createEvents(captured.log, metrics) };
}

export const never = new AbortController().signal;
