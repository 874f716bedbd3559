// Following custom resources while a real API server, its database and the network before it fail.
import { expect, test } from 'vitest';
import { BackOff } from '../../src/kubernetes/back-off.ts';
import { openClusterSource } from '../../src/kubernetes/source.ts';
import { ownCluster } from '../support/cluster.ts';
import { bindingsPath, deleted, givenBinding, never, telemetry } from '../support/cluster-objects.ts';
import { eventually } from '../support/eventually.ts';
import { ourCrds } from '../support/plane/setup.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

test('after every fault the copy shows the truth again, and objects are told once', { timeout: 240_000 }, async () => {
  await using own = await ownCluster({ crds: await ourCrds() });
  const { admin } = own.cluster;
  await using proxy = await TcpProxy.to({ host: '127.0.0.1', port: Number(new URL(own.cluster.server).port) });
  await proxy.mend();
  const identity = { user: 'operator', groups: ['system:masters'] };
  const cluster = await own.cluster.openAs(identity, { server: `https://127.0.0.1:${proxy.port}` });
  await using source = openClusterSource({
    cluster,
    events: telemetry().events,
    inactivityMs: 3_000,
    newBackOff: () => new BackOff({ shortestMs: 20 }),
  });
  const told: string[] = [];
  source.follow({
    changed: ({ key, before, after }) => told.push(`${before ? '-' : ''}${after ? '+' : ''}${key.name}`),
    namespaceChanged: () => undefined,
  });
  await source.synced(never);
  const namespace = await own.cluster.namespace();

  const faults: readonly (readonly [name: string, fault: () => Promise<void>])[] = [
    ['restart', () => own.plane.restartApiServer()],
    ['cut', () => proxy.cut()],
    ['black-hole', async () => proxy.silence()],
    [
      'history',
      async () => {
        await proxy.cut();
        await deleted(admin, `${bindingsPath(namespace)}/restart`);
        await own.plane.forgetHistory();
      },
    ],
  ];
  for (const [name, fault] of faults) {
    await fault();
    await givenBinding(admin, namespace, name);
    await proxy.mend();
    const key = { kind: 'ExternalBinding', namespace, name } as const;
    await eventually(`${name} is seen`, () => source.get(key) !== undefined, 60_000);
  }
  expect(told).toEqual(['+restart', '+cut', '+black-hole', '-restart', '+history']);
});
