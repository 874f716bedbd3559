// ServiceAccount tokens of a real API server as callers of /v1.
import { expect, test } from 'vitest';
import type { Cluster } from '../../src/kubernetes/client.ts';
import { clusterCallerReview } from '../../src/kubernetes/token-review.ts';
import { testCluster } from '../support/cluster.ts';
import { deleted, never, telemetry } from '../support/cluster-objects.ts';
import { eventually } from '../support/eventually.ts';

const AUDIENCE = ['acmery.io'];

async function given(options: { readonly mostRemembered?: number } = {}) {
  const cluster = await testCluster();
  const namespace = await cluster.namespace();
  await cluster.serviceAccount(namespace, 'deployer');
  const reviewer = await cluster.serviceAccount(namespace, 'acmery');
  await mayReview(cluster.admin, namespace);
  const clock = { atMs: 0 };
  const review = clusterCallerReview({
    cluster: await cluster.openAs(reviewer),
    events: telemetry().events,
    elapsedMs: () => clock.atMs,
    ...options,
  });
  return {
    cluster,
    admin: cluster.admin,
    namespace,
    clock,
    review: (token: string) => review.review(token, never),
    token: (audiences?: readonly string[]) => cluster.token(namespace, 'deployer', audiences),
    name: `system:serviceaccount:${namespace}:deployer`,
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

test.each(['read', 'write', 'admin'])(
  'a ClusterRole that lets one use %s gives this permission',
  async (permission) => {
    await using it = await given();
    await mayUse(it.admin, it.namespace, [permission]);
    const caller = { name: it.name, permission };
    expect(await it.review(await it.token(AUDIENCE))).toEqual({ outcome: 'known', caller });
  },
);

test('the highest of several counts', async () => {
  await using it = await given();
  await mayUse(it.admin, it.namespace, ['read', 'write']);
  expect(await it.review(await it.token(AUDIENCE))).toMatchObject({ caller: { permission: 'write' } });
});

test('a token without any right is known and may do nothing', async () => {
  await using it = await given();
  const caller = { name: it.name, permission: undefined };
  expect(await it.review(await it.token(AUDIENCE))).toEqual({ outcome: 'known', caller });
});

test('a token for others than us, and what is no token, is unknown', async () => {
  await using it = await given();
  await mayUse(it.admin, it.namespace, ['admin']);
  expect(await it.review(await it.token())).toEqual({ outcome: 'unknown' });
  expect(await it.review(await it.token(['vault']))).toEqual({ outcome: 'unknown' });
  expect(await it.review('no-token')).toEqual({ outcome: 'unknown' });
});

test('a yes is remembered for 30 s, a no for 5 s', async () => {
  await using it = await given();
  const token = await it.token(AUDIENCE);
  const permissionAt = async (atMs: number) => {
    it.clock.atMs = atMs;
    const review = await it.review(token);
    return review.outcome === 'known' ? review.caller.permission : review.outcome;
  };
  expect(await permissionAt(0)).toBeUndefined();
  await mayUse(it.admin, it.namespace, ['write']);
  expect(await permissionAt(4_999)).toBeUndefined();
  expect(await permissionAt(5_000)).toBe('write');
  await mayUseNothing(it.admin, it.namespace);
  expect(await permissionAt(34_999)).toBe('write');
  expect(await permissionAt(35_000)).toBeUndefined();
});

test('tokens that are none drive no others out', async () => {
  await using it = await given({ mostRemembered: 2 });
  const token = await it.token(AUDIENCE);
  await mayUse(it.admin, it.namespace, ['write']);
  const known = { outcome: 'known', caller: { name: it.name, permission: 'write' } };
  expect(await it.review(token)).toEqual(known);
  for (const none of ['a', 'b', 'c']) expect(await it.review(none)).toEqual({ outcome: 'unknown' });
  await mayUseNothing(it.admin, it.namespace);
  expect(await it.review(token)).toEqual(known);
});

test('where we may not ask nobody is let in, and it is told as our trouble', async () => {
  await using it = await given();
  await mayUse(it.admin, it.namespace, ['admin']);
  const { events, records } = telemetry();
  const review = clusterCallerReview({ cluster: await it.cluster.openAs({ user: 'nobody' }), events });
  expect(await review.review(await it.token(AUDIENCE), never)).toMatchObject({ outcome: 'unavailable' });
  expect(records()).toContainEqual(expect.objectContaining({ reason: expect.stringContaining('403') }));
});

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const apiGroup = 'rbac.authorization.k8s.io';

/** As the ClusterRoles of the chart do. Resolves when the API server has taken note. */
async function mayUse(admin: Cluster, namespace: string, resourceNames: readonly string[]): Promise<void> {
  const rules = [{ apiGroups: ['acmery.io'], resources: ['permissions'], resourceNames, verbs: ['use'] }];
  const metadata = { name: `acmery-${namespace}` };
  await admin.request({ method: 'POST', path: `${rbac}/clusterroles`, body: { metadata, rules } });
  await bind(admin, namespace, { role: metadata.name, name: metadata.name, serviceAccount: 'deployer' });
  for (const name of resourceNames) {
    const attributes = { group: 'acmery.io', resource: 'permissions', verb: 'use', name };
    await untilAllowed(admin, `system:serviceaccount:${namespace}:deployer`, attributes, true);
  }
}

async function mayUseNothing(admin: Cluster, namespace: string): Promise<void> {
  await deleted(admin, `${rbac}/clusterrolebindings/acmery-${namespace}`);
  const attributes = { group: 'acmery.io', resource: 'permissions', verb: 'use', name: 'write' };
  await untilAllowed(admin, `system:serviceaccount:${namespace}:deployer`, attributes, false);
}

async function mayReview(admin: Cluster, namespace: string): Promise<void> {
  const name = `reviewer-${namespace}`;
  await bind(admin, namespace, { role: 'system:auth-delegator', name, serviceAccount: 'acmery' });
  const attributes = { group: 'authentication.k8s.io', resource: 'tokenreviews', verb: 'create' };
  await untilAllowed(admin, `system:serviceaccount:${namespace}:acmery`, attributes, true);
}

const untilAllowed = (admin: Cluster, user: string, resourceAttributes: object, isAllowed: boolean): Promise<void> =>
  eventually(`${user} may${isAllowed ? '' : ' not'} do it`, async () => {
    const review = await admin.request<{ status: { allowed: boolean } }>({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      body: { spec: { user, resourceAttributes } },
    });
    return review.status.allowed === isAllowed;
  });

type Binding = { readonly role: string; readonly name: string; readonly serviceAccount: string };

async function bind(admin: Cluster, namespace: string, { role, name, serviceAccount }: Binding): Promise<void> {
  const body = {
    metadata: { name },
    roleRef: { apiGroup, kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'ServiceAccount', name: serviceAccount, namespace }],
  };
  await admin.request({ method: 'POST', path: `${rbac}/clusterrolebindings`, body });
}
