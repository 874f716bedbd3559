import { expect, test } from 'vitest';
import { testCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { userNameOf } from '../support/plane/test-cluster.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

test('two namespaces of a test differ, and things can be made in them', async () => {
  await using cluster = await testCluster();
  const [one, other] = [await cluster.namespace(), await cluster.namespace()];
  expect(one).not.toBe(other);
  await cluster.kubectl(['create', 'configmap', 'here', '-n', one, '--from-literal=key=value']);
  const { stdout } = await cluster.kubectl(['get', 'configmap', 'here', '-n', one, '-o', 'jsonpath={.data.key}']);
  expect(stdout).toBe('value');
});

test('a ServiceAccount may do nothing before a Role is bound to it, and then what the Role allows', async () => {
  await using cluster = await testCluster();
  const namespace = await cluster.namespace();
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  const identity = await cluster.serviceAccount(namespace, 'reader');
  const reader = await cluster.openAs(identity, { namespace });

  await expect(reader.request({ method: 'GET', path })).rejects.toMatchObject({ code: 403, reason: 'Forbidden' });
  await cluster.kubectl(['create', 'role', 'read', '-n', namespace, '--verb=list', '--resource=secrets']);
  const subject = `--serviceaccount=${namespace}:reader`;
  await cluster.kubectl(['create', 'rolebinding', 'read', '-n', namespace, '--role=read', subject]);

  // RBAC follows its objects by a watch.
  await eventually('the Role is known', () =>
    reader.request({ method: 'GET', path }).then(
      () => true,
      () => false,
    ),
  );
  await expect(reader.request({ method: 'POST', path, body: {} })).rejects.toMatchObject({ code: 403 });
  const requests = await cluster.requestsOf(userNameOf(identity));
  expect(requests[0]).toMatchObject({ verb: 'list', resource: 'secrets', namespace, status: 403 });
});

test('a user is in the groups that are given', async () => {
  await using cluster = await testCluster();
  const alice = await cluster.openAs({ user: 'alice', groups: ['team-a', 'team-b'] });
  const review = await alice.request<{ status: unknown }>({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  });
  expect(review.status).toMatchObject({
    userInfo: { username: 'alice', groups: ['team-a', 'team-b', 'system:authenticated'] },
  });
});

test('who brings no credentials is not let in', async () => {
  await using cluster = await testCluster();
  await expect(
    cluster.kubectl([
      'get',
      'ns',
      '--kubeconfig=/dev/null',
      `--server=${cluster.server}`,
      '--insecure-skip-tls-verify',
      '--token=x',
    ]),
  ).rejects.toThrow(/logged in|Unauthorized/);
});

test('200 calls one after the other open at most four connections', async () => {
  await using cluster = await testCluster();
  await using proxy = await TcpProxy.to({ host: '127.0.0.1', port: Number(new URL(cluster.server).port) });
  await proxy.mend();
  const client = await cluster.openAs(
    { user: 'caller', groups: ['system:masters'] },
    { server: `https://127.0.0.1:${proxy.port}` },
  );
  for (let call = 0; call < 200; call++) await client.request({ method: 'GET', path: '/api/v1/namespaces/default' });
  expect(proxy.connections).toBeGreaterThanOrEqual(1);
  expect(proxy.connections).toBeLessThanOrEqual(4);
});

test('a namespace that is deleted goes with what is in it', async ({ skip }) => {
  await using cluster = await testCluster();
  if (!cluster.hasControllers) skip('there is no kube-controller-manager');
  const namespace = await cluster.namespace();
  await cluster.kubectl(['create', 'configmap', 'inside', '-n', namespace]);
  await cluster.kubectl(['delete', 'namespace', namespace, '--wait', '--timeout=30s']);
  await expect(cluster.admin.request({ method: 'GET', path: `/api/v1/namespaces/${namespace}` })).rejects.toMatchObject(
    { code: 404 },
  );
});
