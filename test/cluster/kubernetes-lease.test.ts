// Leadership by a Lease of a real API server: one at a time, handed on, and taken from those who fell silent.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ClusterRequests } from '../../src/kubernetes/client.ts';
import { heldBy } from '../../src/kubernetes/held-by.ts';
import { type LeaseTiming, leaseLeadership } from '../../src/kubernetes/lease.ts';
import { testCluster } from '../support/cluster.ts';
import { read, telemetry } from '../support/cluster-objects.ts';
import { eventually } from '../support/eventually.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const timing: LeaseTiming = { leaseMs: 2_000, renewDeadlineMs: 1_400, retryMs: 200 };

type Lease = {
  readonly spec: {
    readonly holderIdentity: string;
    readonly leaseDurationSeconds: number;
    readonly leaseTransitions: number;
  };
};

const until = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });

/** One replica; `leading` while its work runs. */
function replica(
  cluster: ClusterRequests,
  namespace: string,
  instance: string,
  stopWork = async (): Promise<void> => undefined,
) {
  const { events, metrics, records } = telemetry();
  const stop = new AbortController();
  const state = { leading: false, times: 0 };
  const leadership = leaseLeadership({ cluster, events, namespace, name: 'operator', instance, timing });
  const ended = leadership.lead(async (signal) => {
    state.leading = true;
    state.times++;
    await until(signal);
    await stopWork();
    state.leading = false;
  }, stop.signal);
  return { state, metrics, records, leadership, stop: () => stop.abort(), ended };
}

test('of two one leads; when it stops the other takes over at once, and not before its work has ended', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const finish = Promise.withResolvers<void>();
  const one = replica(cluster.admin, namespace, 'pod-1', () => finish.promise);
  await eventually('one leads', () => one.state.leading);
  const two = replica(cluster.admin, namespace, 'pod-2');
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/operator`;
  const lease = () => read<Lease>(cluster.admin, path);
  expect((await lease()).spec).toMatchObject({
    holderIdentity: expect.stringMatching(/^pod-1_[0-9a-f-]{36}$/),
    leaseDurationSeconds: 2,
    leaseTransitions: 0,
  });
  expect(await one.metrics.text()).toContain('leader_election_master_status{name="operator"} 1');
  expect(await two.metrics.text()).toContain('leader_election_master_status{name="operator"} 0');

  one.stop();
  // Longer than a lease that nobody renews.
  await sleep(timing.leaseMs * 1.5);
  expect([one.state.leading, two.state.leading]).toEqual([true, false]);
  finish.resolve();
  await one.ended;
  expect(await one.metrics.text()).toContain('leader_election_master_status{name="operator"} 0');
  await eventually('two leads', () => two.state.leading);
  expect((await lease()).spec).toMatchObject({ holderIdentity: expect.stringMatching(/^pod-2_/), leaseTransitions: 1 });

  two.stop();
  await two.ended;
  expect((await lease()).spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
});

test('one that cannot reach the API server stops before another begins, and leads again when its turn comes', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  await using proxy = await TcpProxy.to({ host: '127.0.0.1', port: Number(new URL(cluster.server).port) });
  await proxy.mend();
  const server = `https://127.0.0.1:${proxy.port}`;
  const behind = await cluster.openAs({ user: `cut-${namespace}`, groups: ['system:masters'] }, { server });
  const one = replica(behind, namespace, 'pod-1');
  await eventually('one leads', () => one.state.leading);
  const two = replica(cluster.admin, namespace, 'pod-2');
  const together: boolean[] = [];
  const watching = setInterval(() => together.push(one.state.leading && two.state.leading), 5);

  proxy.silence();
  await eventually('two leads', () => two.state.leading);
  expect(one.state.leading).toBe(false);
  await proxy.mend();
  two.stop();
  await two.ended;
  await eventually('one leads again', () => one.state.leading);
  clearInterval(watching);
  expect(together).not.toContain(true);
  expect(one.state.times).toBe(2);
  expect(one.records()).toContainEqual(expect.objectContaining({ message: 'no longer leading', why: 'lost' }));
  one.stop();
  await one.ended;
});

test('one that goes on working long after its lease was renewed last says that it lives no more', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const finish = Promise.withResolvers<void>();
  const one = replica(cluster.admin, namespace, 'pod-1', () => finish.promise);
  const problem = (): string | undefined => {
    try {
      one.leadership.requireRenewed?.();
      return undefined;
    } catch (error) {
      return String(error);
    }
  };
  expect(problem()).toBeUndefined();
  await eventually('one leads', () => one.state.leading);
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/operator`;
  const body = { spec: { holderIdentity: 'thief', leaseDurationSeconds: 60 } };
  await cluster.admin.request({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body });
  await eventually('it is told', () => problem() !== undefined);
  expect(problem()).toContain('could not renew the lease operator for');
  finish.resolve();
  await eventually('it has stopped', () => !one.state.leading);
  await eventually('it lives again', () => problem() === undefined);
  one.stop();
  await one.ended;
});

/** Like a process that is stopped and goes on: nothing runs meanwhile, and what has come by then is seen first. */
const stopped = (): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, timing.leaseMs);

test('one that was stopped for longer than its lease changes nothing any more, before it is told', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const one = replica(cluster.admin, namespace, 'pod-1');
  const held = heldBy(one.leadership, cluster.admin);
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const make = (name: string) => held.request({ method: 'POST', path, body: { metadata: { name } } });
  await expect(make('not-yet')).rejects.toMatchObject({ reason: 'NotLeading' });
  await eventually('one leads', () => one.state.leading);
  await make('leading');

  stopped();
  await expect(make('stopped')).rejects.toMatchObject({ reason: 'NotLeading' });
  expect(await held.request({ method: 'GET', path: `${path}/leading` })).toMatchObject({ kind: 'ConfigMap' });
  await eventually('it leads again', () => one.state.times === 2 && one.state.leading);
  await make('again');
  one.stop();
  await one.ended;
});

test('a renewal that is answered after the lease has ended is none', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const answered = Promise.withResolvers<void>();
  const late: ClusterRequests = {
    server: cluster.server,
    stream: (...asked) => cluster.admin.stream(...asked),
    async request<Reply>(request: Parameters<ClusterRequests['request']>[0]) {
      const isRenewal = request.method === 'PUT' && one.state.times === 1 && one.state.leading;
      const answer = await cluster.admin.request<Reply>(request);
      if (isRenewal) {
        stopped();
        answered.resolve();
      }
      return answer;
    },
  };
  const one = replica(late, namespace, 'pod-1');
  await answered.promise;
  // No timer of the next renewal has to come first.
  for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate);
  expect(one.records()).toContainEqual(expect.objectContaining({ message: 'no longer leading', why: 'lost' }));
  await eventually('it leads again', () => one.state.times === 2);
  one.stop();
  await one.ended;
});

test('a lease that somebody else took is not fought for', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const one = replica(cluster.admin, namespace, 'pod-1');
  await eventually('one leads', () => one.state.leading);
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/operator`;
  const body = { spec: { holderIdentity: 'thief', leaseDurationSeconds: 1 } };
  await cluster.admin.request({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body });
  await eventually('it has stopped', () => !one.state.leading);
  expect((await read<Lease>(cluster.admin, path)).spec.holderIdentity).toBe('thief');
  await eventually('the thief was silent for long enough', () => one.state.times === 2);
  one.stop();
  await one.ended;
});

test('of many that begin at once exactly one leads', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const replicas = Array.from({ length: 6 }, (_, index) => replica(cluster.admin, namespace, `pod-${index}`));
  await eventually('one leads', () => replicas.some(({ state }) => state.leading));
  await sleep(timing.retryMs * 3);
  expect(replicas.filter(({ state }) => state.leading)).toHaveLength(1);
  for (const { stop } of replicas) stop();
  await Promise.all(replicas.map(({ ended }) => ended));
});

test('work that fails hands leadership on, and its error is told', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const { events } = telemetry();
  const options = { cluster: cluster.admin, events, namespace, name: 'operator', instance: 'pod-1', timing };
  const { signal } = new AbortController();
  const work = async (): Promise<void> => {
    throw new Error('a bug');
  };
  await expect(leaseLeadership(options).lead(work, signal)).rejects.toThrow('a bug');
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/operator`;
  expect((await read<Lease>(cluster.admin, path)).spec.holderIdentity).toBe('');
});
