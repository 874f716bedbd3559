// How many events are under way at once, and that those of one thing never overtake each other.
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Cluster } from '../../../src/kubernetes/client.ts';
import { EventRecorder } from '../../../src/kubernetes/event-recorder.ts';
import type { Resource } from '../../../src/resources/resource.ts';
import { telemetry } from '../../support/cluster-objects.ts';

const waiting = { type: 'Normal', reason: 'DependencyNotReady', action: 'Reconcile', note: 'Not yet.' } as const;

const anObject = (name: string): Resource => ({
  apiVersion: 'acmery.io/v1',
  kind: 'Directory',
  metadata: { namespace: 'pki', name, uid: name, generation: 1, resourceVersion: '1', creationTimestamp: '' },
  spec: {},
});

/** A recorder before an API server that answers when it is told to. */
function aRecorder() {
  const sent: { readonly method: string; readonly answer: () => void }[] = [];
  const request = ({ method }: { readonly method: string }) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    sent.push({ method, answer: resolve });
    return promise;
  };
  const cluster = { request } as unknown as Cluster;
  return { sent, recorder: new EventRecorder({ cluster, events: telemetry().events, instance: 'pod-1' }) };
}

test('four are under way at once, and each that is answered makes room for one', async () => {
  const { sent, recorder } = aRecorder();
  for (let number = 0; number < 10; number++) recorder.record(anObject(`o${number}`), waiting);
  await turn();
  expect(sent).toHaveLength(4);
  sent[1]?.answer();
  await turn();
  expect(sent).toHaveLength(5);
  for (let next = 0; next < 10; next++) {
    sent[next]?.answer();
    await turn();
  }
  expect(sent).toHaveLength(10);
  await recorder[Symbol.asyncDispose]();
});

test('the count of an event goes out once the event has been taken', async () => {
  const { sent, recorder } = aRecorder();
  recorder.record(anObject('a'), waiting);
  await turn();
  recorder.record(anObject('a'), waiting);
  await turn();
  expect(sent.map(({ method }) => method)).toEqual(['POST']);
  sent[0]?.answer();
  await turn();
  expect(sent.map(({ method }) => method)).toEqual(['POST', 'PATCH']);
  sent[1]?.answer();
  await turn();
  await recorder[Symbol.asyncDispose]();
  expect(sent).toHaveLength(2);
});
