// What of an object stays in memory, however large its owner makes it.
import { expect, test } from 'vitest';
import { type KubernetesObject, slim } from '../../../src/kubernetes/kubernetes-object.ts';
import { annotations } from '../../../src/resources/annotations.ts';

const large = 'x'.repeat(262_144);
const binding: KubernetesObject = {
  apiVersion: 'acmery.io/v1',
  kind: 'ExternalBinding',
  metadata: { name: 'till', namespace: 'shop', uid: 'u', resourceVersion: '1' },
  spec: { directoryRef: { name: 'web' } },
};
const withMeta = (metadata: Partial<KubernetesObject['metadata']>): KubernetesObject => ({
  ...binding,
  metadata: { ...binding.metadata, ...metadata },
});

test('metadata that nobody here asks for is not kept', () => {
  const owner = { apiVersion: 'v1', kind: 'Pod', name: large, uid: 'o' };
  expect(
    slim(
      withMeta({
        annotations: { 'corp.example/notes': large, 'acmery.io/notes': large },
        labels: { team: large },
        managedFields: [{ manager: large }],
        ownerReferences: [owner],
      }),
    ),
  ).toEqual(binding);
});

test('annotations of ours are kept, as much of them as is ever looked at', () => {
  const kept = slim(withMeta({ annotations: { [annotations.paused]: 'true', [annotations.renew]: large } }));
  expect(kept.metadata.annotations).toEqual({ [annotations.paused]: 'true', [annotations.renew]: 'x'.repeat(1024) });
});

test('labels of what is in no namespace are kept', () => {
  const metadata = { name: 'shop', uid: 'u', resourceVersion: '1', labels: { team: 'tills' } };
  expect(slim({ metadata }).metadata).toEqual(metadata);
});
