// A custom resource as it is read, for tests of what only looks at it.
import { API_VERSION, type KindName, type Resource } from '../../src/resources/resource.ts';

export const resourceOf = <Kind extends KindName, Spec>(
  kind: Kind,
  name: string,
  spec: Spec,
): Resource<Kind, Spec> => ({
  apiVersion: API_VERSION,
  kind,
  metadata: {
    namespace: 'acmery-system',
    name,
    uid: 'uid-1',
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: '2026-05-17T12:00:00Z',
  },
  spec,
});
