// How many connections to a real API server are used.
import { expect, test } from 'vitest';
import { openClusterSource } from '../../src/kubernetes/source.ts';
import { testCluster } from '../support/cluster.ts';
import { never, telemetry } from '../support/cluster-objects.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

test('200 calls one after the other use at most four connections, and each watch one', async () => {
  await using cluster = await testCluster();
  await using proxy = await TcpProxy.to({ host: '127.0.0.1', port: Number(new URL(cluster.server).port) });
  await proxy.mend();
  const identity = { user: 'counted', groups: ['system:masters'] };
  const client = await cluster.openAs(identity, { server: `https://127.0.0.1:${proxy.port}` });
  for (let call = 0; call < 200; call++) await client.request({ method: 'GET', path: '/version' });
  const forCalls = proxy.connections;
  expect(forCalls).toBeLessThanOrEqual(4);
  await using source = openClusterSource({ cluster: client, events: telemetry().events });
  source.follow({ changed: () => undefined, namespaceChanged: () => undefined });
  await source.synced(never);
  expect(proxy.connections - forCalls).toBeLessThanOrEqual(5);
});
