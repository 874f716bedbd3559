// Kubernetes events of a real API server: one object per thing that happens, however often it does.
import { expect, test } from 'vitest';
import { EventRecorder } from '../../src/kubernetes/event-recorder.ts';
import { testCluster } from '../support/cluster.ts';
import { deleted, givenBinding, read, telemetry } from '../support/cluster-objects.ts';
import { eventually } from '../support/eventually.ts';

type Event = {
  readonly metadata: { readonly name: string };
  readonly eventTime: string;
  readonly reason: string;
  readonly note: string;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
};

const waiting = {
  type: 'Warning',
  reason: 'DependencyNotReady',
  action: 'Reconcile',
  note: 'Directory web is absent.',
} as const;
const MINUTE_MS = 60_000;

async function given() {
  const cluster = await testCluster();
  const namespace = await cluster.namespace();
  const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
  const clock = { atMs: Date.parse('2026-05-17T12:00:00.123Z') };
  const { events, metrics } = telemetry();
  const recorder = new EventRecorder({
    cluster: cluster.admin,
    events,
    instance: 'pod-1',
    isGoing: () => false,
    now: () => new Date(clock.atMs),
  });
  const found = async () => (await read<{ items: readonly Event[] }>(cluster.admin, path)).items;
  return {
    admin: cluster.admin,
    path,
    namespace,
    resource: await givenBinding(cluster.admin, namespace, 'a'),
    recorder,
    metrics,
    pass: (ms: number) => {
      clock.atMs += ms;
    },
    found,
    counts: (...counts: readonly (number | undefined)[]) =>
      eventually(`the counts are ${counts}`, async () => {
        const items = await found();
        return items.map(({ series }) => `${series?.count}`).join() === counts.map(String).join();
      }),
    async [Symbol.asyncDispose]() {
      await recorder[Symbol.asyncDispose]();
      await cluster[Symbol.asyncDispose]();
    },
  };
}

test('the first is an event about the object, with all that the API asks for', async () => {
  await using it = await given();
  it.recorder.record(it.resource, waiting);
  await it.counts(undefined);
  expect(await it.found()).toMatchObject([
    {
      metadata: { name: expect.stringMatching(/^a\.[0-9a-f]{15,16}$/) },
      ...waiting,
      eventTime: '2026-05-17T12:00:00.123000Z',
      regarding: { apiVersion: 'acmery.io/v1', kind: 'ExternalBinding', name: 'a', uid: it.resource.metadata.uid },
      reportingController: 'acmery.io/externalbinding',
      reportingInstance: 'pod-1',
    },
  ]);
});

test('the second makes it a series; later ones are told when half an hour has passed, or 6 silent minutes', async () => {
  await using it = await given();
  const again = (): void => {
    it.pass(MINUTE_MS);
    it.recorder.record(it.resource, waiting);
  };
  again();
  await it.counts(undefined);
  again();
  await it.counts(2);
  for (let minute = 0; minute < 29; minute++) again();
  it.recorder.sweep();
  await it.counts(2);
  again();
  it.recorder.sweep();
  await it.counts(32);
  again();
  it.pass(6 * MINUTE_MS + 1);
  it.recorder.sweep();
  await it.counts(33);
  expect((await it.found())[0]?.series?.lastObservedTime).toBe('2026-05-17T12:33:00.123000Z');
  it.recorder.record(it.resource, waiting);
  await eventually('another one begins', async () => (await it.found()).length === 2);
});

test('another reason, action, type or object is another event; another note is not', async () => {
  await using it = await given();
  const other = await givenBinding(it.admin, it.namespace, 'b');
  it.recorder.record(it.resource, waiting);
  it.recorder.record(it.resource, { ...waiting, note: 'Directory web is not programmed.' });
  it.recorder.record(it.resource, { ...waiting, reason: 'SecretConflict' });
  it.recorder.record(it.resource, { ...waiting, action: 'Delete' });
  it.recorder.record(it.resource, { ...waiting, type: 'Normal' });
  it.recorder.record(other, waiting);
  await eventually('all are there', async () => (await it.found()).length === 5);
  await eventually('one is a series', async () => (await it.found()).filter(({ series }) => series).length === 1);
});

test('a series whose event has expired is told anew', async () => {
  await using it = await given();
  it.recorder.record(it.resource, waiting);
  await it.counts(undefined);
  await deleted(it.admin, `${it.path}/${(await it.found())[0]?.metadata.name}`);
  it.recorder.record(it.resource, waiting);
  await it.counts(2);
});

test('names and notes that are too long are cut to what the API takes', async () => {
  await using it = await given();
  const name = `${'a'.repeat(62)}.`.repeat(3) + 'b'.repeat(60);
  const resource = await givenBinding(it.admin, it.namespace, name);
  it.recorder.record(resource, { ...waiting, note: 'ä'.repeat(2_000) });
  await it.counts(undefined);
  const [event] = await it.found();
  expect(event?.note).toMatch(/^ä+\.\.\.$/);
});

test('what is queued is sent before it ends, counts included', async () => {
  await using it = await given();
  for (let time = 0; time < 5; time++) it.recorder.record(it.resource, waiting);
  await it.recorder[Symbol.asyncDispose]();
  await it.counts(5);
});

test('beyond 1000 that wait events are dropped and counted', async () => {
  await using it = await given();
  for (let time = 0; time < 1_010; time++) it.recorder.record(it.resource, { ...waiting, reason: `Reason${time}` });
  // Four are being sent already.
  expect(await it.metrics.text()).toContain('acmery_object_events_dropped_total 6');
});

test('an event that is refused is dropped, and those after it are sent', async () => {
  await using it = await given();
  const elsewhere = { ...it.resource, metadata: { ...it.resource.metadata, namespace: 'nowhere' } };
  it.recorder.record(elsewhere, waiting);
  it.recorder.record(it.resource, { ...waiting, reason: 'SecretConflict' });
  await it.counts(undefined);
  const isDropped = async () => (await it.metrics.text()).includes('acmery_object_events_dropped_total 1');
  await eventually('the other one is dropped', isDropped);
});
