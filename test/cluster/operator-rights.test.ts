// The rights that the chart gives: the program is refused nothing, and uses all of them.
import { beforeEach, expect, test } from 'vitest';
import { chartManifests, withoutHelm } from '../support/chart.ts';
import { testCluster } from '../support/cluster.ts';
import { testDatabase } from '../support/database.ts';
import {
  aBinding,
  aChain,
  anAcmeKey,
  aRoot,
  change,
  create,
  createAll,
  remove,
  untilGone,
  untilReady,
} from '../support/declared-chain.ts';
import { eventually } from '../support/eventually.ts';
import { installOperator, refusalsOf, troublesOf } from '../support/installed-operator.ts';

beforeEach(({ skip }) => {
  const reason = withoutHelm();
  if (reason !== undefined) skip(reason);
});

const REQUESTED = 'acmery.io/reconcile-requested-at';

test.for([
  { title: 'in the whole cluster', isWhole: true },
  // By Roles alone: of namespaces nothing is known, and tokens of the cluster are good for nothing.
  { title: 'in some namespaces', isWhole: false },
])('as the chart installs it $title, the program is refused nothing and uses every right', async ({ isWhole }) => {
  await using cluster = await testCluster();
  await using database = await testDatabase();
  const { admin } = cluster;
  const elsewhere = await cluster.namespace();
  const values = isWhole ? {} : { watchNamespaces: [elsewhere] };
  const operator = await installOperator(cluster, values);
  const { namespace, labels, rights } = operator;
  const env: Record<string, string> = isWhole ? {} : { ACMERY_WATCH_NAMESPACES: `${namespace},${elsewhere}` };
  await using acmery = await operator.serve({ databaseUrl: database.url, env });

  const directoryRef = { name: 'web', namespace };
  const abroad = { namespace: elsewhere, labels };
  const bound = aBinding(abroad, 'abroad', { directoryRef, onDelete: 'RevokeAccount' });
  const short = aRoot(operator, 'short', { deletionPolicy: 'Delete' });
  const all = [...aChain(operator), bound, anAcmeKey(abroad, 'edge', { directoryRef }), short];
  await createAll(admin, all);
  await untilReady(admin, all);

  // A Secret of another name takes the place of the first.
  await change(admin, bound, { spec: { secretName: 'other-eab' } });
  // What somebody has spoilt is put right.
  const path = `/api/v1/namespaces/${namespace}/configmaps/web-acme`;
  const contentType = 'application/merge-patch+json';
  await admin.request({ method: 'PATCH', path, contentType, body: { data: { directory: 'spoilt' } } });
  const directory = all.find(({ kind }) => kind === 'Directory') ?? short;
  await change(admin, directory, { metadata: { annotations: { [REQUESTED]: 'now' } } });
  await eventually('the ConfigMap is right', async () => {
    const { data } = await admin.request<{ data: { directory: string } }>({ method: 'GET', path });
    return data.directory !== 'spoilt';
  });
  // Its key goes with it.
  await remove(admin, short);
  await untilGone(admin, [short]);
  await untilReady(admin, all.slice(0, -1));
  const isTold = acmery.lines().some(({ message }) => message.startsWith('/v1 takes API tokens only'));
  expect(isTold).toBe(!isWhole);
  if (isWhole) {
    await cluster.serviceAccount(elsewhere, 'caller');
    const role = `${rights.fullname}-api-read`;
    const subject = `--serviceaccount=${elsewhere}:caller`;
    await cluster.kubectl(['create', 'clusterrolebinding', `${role}-caller`, `--clusterrole=${role}`, subject]);
    const token = await cluster.token(elsewhere, 'caller', ['acmery.io']);
    const asked = () => acmery.api('/v1/directories', { authorization: `Bearer ${token}` });
    await eventually('a token of the cluster is let in', async () => (await asked()).status === 200);
  }
  for (const object of all.slice(0, -1).reverse()) await remove(admin, object);
  await untilGone(admin, all);
  const renewed = async () => (await operator.requests()).some(({ verb }) => verb === 'update');
  await eventually('the lease is renewed', renewed);
  expect(troublesOf(acmery)).toEqual([]);
  // A watch is in the audit log once it has ended.
  await acmery.stop('SIGTERM');

  const granted = await rightsOf(namespace, values);
  const isUsed = async (): Promise<boolean> => (await unusedOf(granted)).every((right) => isSpare(right));
  await eventually('every right was used', isUsed).catch(() => undefined);
  const requests = await operator.requests();
  expect(refusalsOf(requests)).toEqual([]);
  expect((await unusedOf(granted)).filter((right) => !isSpare(right))).toEqual([]);

  async function unusedOf(rights: readonly string[]): Promise<readonly string[]> {
    const used = new Set((await operator.requests()).map(({ verb, resource }) => `${verb} ${resource}`));
    return rights.filter((right) => !used.has(right));
  }
});

test('an object in a namespace that is not watched is left alone', async () => {
  await using cluster = await testCluster();
  await using database = await testDatabase();
  const operator = await installOperator(cluster, {});
  const { namespace, labels } = operator;
  const env = { ACMERY_WATCH_NAMESPACES: namespace };
  await using acmery = await operator.serve({ databaseUrl: database.url, env });
  const outside = aRoot({ namespace: await cluster.namespace(), labels });
  const inside = aRoot(operator);
  expect((await create(cluster.admin, outside)).status.observedGeneration).toBe(-1);
  await create(cluster.admin, inside);
  await untilReady(cluster.admin, [inside]);
  expect(await acmery.listed('signing_certs')).toHaveLength(1);
});

/** `<verb> <resource>` of everything that the ServiceAccount of a release may do. */
async function rightsOf(namespace: string, values: object): Promise<readonly string[]> {
  const manifests = await chartManifests({ ...values, fullnameOverride: namespace }, { namespace, release: namespace });
  const ours = ['operator', 'keys', 'lease'].map((part) => `${namespace}-${part}`);
  type Rule = { readonly resources: readonly string[]; readonly verbs: readonly string[] };
  const rules = manifests
    .filter(({ kind, metadata }) => ['Role', 'ClusterRole'].includes(kind) && ours.includes(metadata.name))
    .flatMap(({ rules }) => rules as readonly Rule[]);
  const isDelegator = manifests.some(({ metadata }) => metadata.name === `${namespace}-auth-delegator`);
  const reviews = isDelegator ? ['create tokenreviews', 'create subjectaccessreviews'] : [];
  const named = rules.flatMap(({ resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)),
  );
  return [...new Set([...named, ...reviews])];
}

/**
 * Lists are for API servers that cannot stream what there is, reads of an object for a status that meets a newer version,
 * patches of events for what happens again and again.
 */
const isSpare = (right: string): boolean =>
  right === 'patch events' ||
  /^(list|get) (signingcerts|directories|externalbindings|acmekeys|namespaces)$/.test(right);
