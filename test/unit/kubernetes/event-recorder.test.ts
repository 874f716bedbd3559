// When events are sent, how many are under way at once, and that those of one thing never overtake each other.
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Cluster } from '../../../src/kubernetes/client.ts';
import { EventRecorder } from '../../../src/kubernetes/event-recorder.ts';
import type { Resource } from '../../../src/resources/resource.ts';
import { telemetry } from '../../support/cluster-objects.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** Longer than it waits for more to come. */
const lull = async (): Promise<void> => {
  vi.advanceTimersByTime(150);
  await turn();
};

const waiting = { type: 'Normal', reason: 'DependencyNotReady', action: 'Reconcile', note: 'Not yet.' } as const;

const anObject = (name: string): Resource => ({
  apiVersion: 'acmery.io/v1',
  kind: 'Directory',
  metadata: { namespace: 'pki', name, uid: name, generation: 1, resourceVersion: '1', creationTimestamp: '' },
  spec: {},
});

/** A recorder before an API server that answers when it is told to. */
function aRecorder() {
  const going = new Set<string>();
  const sent: { readonly method: string; readonly answer: () => void }[] = [];
  const request = ({ method }: { readonly method: string }) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    sent.push({ method, answer: resolve });
    return promise;
  };
  const cluster = { request } as unknown as Cluster;
  const isGoing = (namespace: string): boolean => going.has(namespace);
  const recorder = new EventRecorder({ cluster, events: telemetry().events, instance: 'pod-1', isGoing });
  return { sent, going, recorder };
}

test('four are under way at once, and each that is answered makes room for one', async () => {
  const { sent, recorder } = aRecorder();
  for (let number = 0; number < 10; number++) recorder.record(anObject(`o${number}`), waiting);
  await lull();
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

test('what waits for a namespace that begins to go meanwhile is not sent', async () => {
  const { sent, going, recorder } = aRecorder();
  recorder.record(anObject('a'), waiting);
  going.add('pki');
  await lull();
  await recorder[Symbol.asyncDispose]();
  expect(sent).toEqual([]);
});

test('the count of an event goes out once the event has been taken', async () => {
  const { sent, recorder } = aRecorder();
  recorder.record(anObject('a'), waiting);
  await lull();
  recorder.record(anObject('a'), waiting);
  await lull();
  expect(sent.map(({ method }) => method)).toEqual(['POST']);
  sent[0]?.answer();
  await turn();
  expect(sent.map(({ method }) => method)).toEqual(['POST', 'PATCH']);
  sent[1]?.answer();
  await turn();
  await recorder[Symbol.asyncDispose]();
  expect(sent).toHaveLength(2);
});

test('while more comes nothing is sent, and what came twice goes out as one', async () => {
  const { sent, recorder } = aRecorder();
  for (let number = 0; number < 20; number++) {
    recorder.record(anObject(`o${number % 10}`), waiting);
    vi.advanceTimersByTime(50);
    await turn();
  }
  expect(sent).toHaveLength(0);
  await lull();
  for (let next = 0; next < 10; next++) {
    sent[next]?.answer();
    await turn();
  }
  expect(sent.map(({ method }) => method)).toEqual(Array(10).fill('POST'));
  await recorder[Symbol.asyncDispose]();
});

test.each([
  ['10 seconds', 201, 50],
  ['750 that wait', 750, 0],
])('after %s it is sent though more comes', async (_, count, everyMs) => {
  const { sent, recorder } = aRecorder();
  for (let number = 0; number < count - 1; number++) {
    recorder.record(anObject(`o${number}`), waiting);
    vi.advanceTimersByTime(everyMs);
  }
  await turn();
  const before = sent.length;
  recorder.record(anObject('last'), waiting);
  await turn();
  expect([before, sent.length]).toEqual([0, 4]);
  for (let next = 0; next < count; next++) {
    sent[next]?.answer();
    await turn();
  }
  await recorder[Symbol.asyncDispose]();
});
