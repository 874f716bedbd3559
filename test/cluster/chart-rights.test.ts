// What the program may do in a cluster where the chart has installed it, as the API server decides.
import { beforeEach, expect, test } from 'vitest';
import { type ChartValues, installRights, withoutHelm } from '../support/chart.ts';
import { testCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import type { Identity, TestCluster } from '../support/plane/test-cluster.ts';
import { isAllowed } from '../support/rbac.ts';

/** `verb group/resource[/subresource] [name]`, and where: in the namespace of the release, in another, or nowhere. */
type Ask = readonly [verb: string, resource: string, where: 'release' | 'other' | 'cluster', name?: string];

const kinds = ['signingcerts', 'directories', 'externalbindings', 'acmekeys'].map((plural) => `acmery.io/${plural}`);

const keys: readonly Ask[] = ['get', 'list', 'create', 'delete'].map((verb): Ask => [verb, '/secrets', 'release']);
const reviews: readonly Ask[] = [
  ['create', 'authentication.k8s.io/tokenreviews', 'cluster'],
  ['create', 'authorization.k8s.io/subjectaccessreviews', 'cluster'],
];
const lease: readonly Ask[] = [
  ['create', 'coordination.k8s.io/leases', 'release'],
  ['get', 'coordination.k8s.io/leases', 'release', 'acmery'],
  ['update', 'coordination.k8s.io/leases', 'release', 'acmery'],
];
const following = (where: Ask[2]): readonly Ask[] => [
  ...kinds.flatMap((kind) => ['get', 'list', 'watch', 'patch'].map((verb): Ask => [verb, kind, where])),
  ...kinds.map((kind): Ask => ['patch', `${kind}/status`, where]),
];
const outputs = (where: Ask[2]): readonly Ask[] => [
  ...['get', 'create', 'patch', 'delete'].map((verb): Ask => [verb, '/secrets', where]),
  ...['get', 'create', 'patch'].map((verb): Ask => [verb, '/configmaps', where]),
  ['create', 'events.k8s.io/events', where],
  ['patch', 'events.k8s.io/events', where],
];
const namespaces: readonly Ask[] = [
  ['list', '/namespaces', 'cluster'],
  ['watch', '/namespaces', 'cluster'],
];

/** Of nobody, in any installation. */
const never: readonly Ask[] = [
  ...(['release', 'other'] as const).flatMap((where): readonly Ask[] => [
    ['watch', '/secrets', where],
    ['update', '/secrets', where],
    ['deletecollection', '/secrets', where],
    ['list', '/configmaps', where],
    ['delete', '/configmaps', where],
    ['create', '/pods', where],
    ['get', 'rbac.authorization.k8s.io/roles', where],
    ['create', 'rbac.authorization.k8s.io/rolebindings', where],
    ...kinds.map((kind): Ask => ['update', kind, where]),
    ...kinds.map((kind): Ask => ['create', kind, where]),
    ...kinds.map((kind): Ask => ['delete', kind, where]),
    ['patch', 'cert-manager.io/issuers', where],
  ]),
  ['list', '/secrets', 'other'],
  ['get', 'coordination.k8s.io/leases', 'release', 'of-another'],
  ['update', 'coordination.k8s.io/leases', 'other', 'acmery'],
  ['create', '/namespaces', 'cluster'],
  ['impersonate', '/users', 'cluster'],
  ['use', 'acmery.io/permissions', 'cluster', 'read'],
];

type Installed = { readonly cluster: TestCluster; readonly release: string; readonly other: string };

beforeEach(({ skip }) => {
  const reason = withoutHelm();
  if (reason !== undefined) skip(reason);
});

async function installed(cluster: TestCluster, values: (other: string) => ChartValues) {
  const [release, other] = [await cluster.namespace(), await cluster.namespace()];
  const rights = await installRights(cluster, release, values(other));
  return { cluster, release, other, rights };
}

test('one Deployment in the whole cluster: keys at home, outputs everywhere, Secrets by name only', async () => {
  await using cluster = await testCluster();
  const it = await installed(cluster, () => ({}));
  const may = [
    ...[keys, lease, reviews, namespaces, following('release'), following('other')],
    ...[outputs('release'), outputs('other')],
  ].flat();
  await untilMay(it, it.rights.identityOf(), may);
  expect(await allowed(it, it.rights.identityOf(), never)).toEqual([]);
});

test('apart, the servers have the keys and no right on anything outside their namespace', async () => {
  await using cluster = await testCluster();
  const it = await installed(cluster, () => ({ roles: { split: true } }));
  const expected = {
    server: { may: [...keys, ...reviews], not: [...lease, ...namespaces, ...following('other'), ...outputs('other')] },
    worker: { may: keys, not: [...lease, ...reviews, ...namespaces, ...following('other'), ...outputs('other')] },
    operator: {
      may: [...keys, ...lease, ...namespaces, ...following('other'), ...outputs('other')],
      not: reviews,
    },
  };
  for (const [role, { may, not }] of Object.entries(expected)) {
    const identity = it.rights.identityOf(role as keyof typeof expected);
    await untilMay(it, identity, may);
    expect(await allowed(it, identity, [...not, ...never]), role).toEqual([]);
  }
});

test('with namespaces to watch there are Roles in these alone, and nothing of the cluster', async () => {
  await using cluster = await testCluster();
  const stranger = await cluster.namespace();
  const it = await installed(cluster, (other) => ({ watchNamespaces: [other] }));
  const may = [...keys, ...lease, ...following('release'), ...following('other'), ...outputs('other')];
  await untilMay(it, it.rights.identityOf(), may);
  const not = [...reviews, ...namespaces, ...never];
  expect(await allowed(it, it.rights.identityOf(), not)).toEqual([]);
  const elsewhere = [...following('other'), ...outputs('other')];
  const there = { ...it, other: stranger };
  expect(await allowed(there, it.rights.identityOf(), elsewhere)).toEqual([]);
});

test('Issuers are written only where injection is asked for', async () => {
  await using cluster = await testCluster();
  const it = await installed(cluster, () => ({ certManager: { injection: true } }));
  const may: readonly Ask[] = ['list', 'watch', 'patch'].flatMap((verb): readonly Ask[] => [
    [verb, 'cert-manager.io/issuers', 'other'],
    [verb, 'cert-manager.io/clusterissuers', 'cluster'],
  ]);
  await untilMay(it, it.rights.identityOf(), may);
});

test('a ClusterRole for each level of /v1 gives this level and no other', async () => {
  await using cluster = await testCluster();
  const it = await installed(cluster, () => ({}));
  const caller = await cluster.serviceAccount(it.other, 'caller');
  const name = `${it.rights.fullname}-api-write`;
  const subject = `--serviceaccount=${it.other}:caller`;
  await cluster.kubectl(['create', 'clusterrolebinding', `${name}-caller`, `--clusterrole=${name}`, subject]);
  const use = (level: string): Ask => ['use', 'acmery.io/permissions', 'cluster', level];
  const asks = ['read', 'write', 'admin'].map(use);
  await untilMay(it, caller, [use('write')]);
  expect(await allowed(it, caller, asks)).toEqual([use('write')]);
});

test('view reads custom resources, edit binds clients, admin makes CAs, and none of them is let into /v1', async ({
  skip,
}) => {
  await using cluster = await testCluster();
  if (!cluster.hasControllers) skip('roles are aggregated by kube-controller-manager, which is not here');
  const it = await installed(cluster, () => ({}));
  const can = async (role: string, ...ask: Ask): Promise<boolean> => {
    return mayAsk(it, { serviceAccount: `is-${role}`, namespace: it.other }, ask);
  };
  for (const role of ['view', 'edit', 'admin']) {
    const subject = `--serviceaccount=${it.other}:is-${role}`;
    await cluster.kubectl(['create', 'rolebinding', role, '-n', it.other, `--clusterrole=${role}`, subject]);
  }
  await eventually('the roles are aggregated', () => can('admin', 'create', 'acmery.io/signingcerts', 'other'));
  expect(await can('view', 'list', 'acmery.io/signingcerts', 'other')).toBe(true);
  expect(await can('view', 'create', 'acmery.io/externalbindings', 'other')).toBe(false);
  expect(await can('edit', 'create', 'acmery.io/externalbindings', 'other')).toBe(true);
  expect(await can('edit', 'create', 'acmery.io/directories', 'other')).toBe(false);
  expect(await can('admin', 'delete', 'acmery.io/directories', 'other')).toBe(true);
  expect(await can('admin', 'use', 'acmery.io/permissions', 'cluster', 'read')).toBe(false);
  expect(await can('admin', 'patch', 'acmery.io/directories/status', 'other')).toBe(false);
});

/** Those of them that RBAC allows. */
async function allowed(it: Installed, identity: Identity, asks: readonly Ask[]): Promise<readonly Ask[]> {
  const answers = await Promise.all(asks.map((ask) => mayAsk(it, identity, ask)));
  return asks.filter((_, index) => answers[index]);
}

/** RBAC follows its objects by a watch. */
async function untilMay(it: Installed, identity: Identity, asks: readonly Ask[]): Promise<void> {
  let missing = asks;
  const hasAll = async (): Promise<boolean> => {
    const granted = await allowed(it, identity, missing);
    missing = missing.filter((ask) => !granted.includes(ask));
    return missing.length === 0;
  };
  await eventually('RBAC knows the release', hasAll, 1_000).catch(() => undefined);
  expect(missing).toEqual([]);
}

function mayAsk({ cluster, release, other }: Installed, identity: Identity, ask: Ask): Promise<boolean> {
  const [verb, path, where, name] = ask;
  const [group = '', resource = '', subresource] = path.split('/');
  const namespace = { release, other, cluster: undefined }[where];
  return isAllowed(cluster, identity, {
    verb,
    group,
    resource,
    ...(subresource !== undefined && { subresource }),
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
  });
}
