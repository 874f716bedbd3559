// What trust-manager collects: the ConfigMap of each Directory once more, in one namespace, with the rights of the chart.
import { beforeEach, expect, test } from 'vitest';
import { withoutHelm } from '../support/chart.ts';
import { testCluster } from '../support/cluster.ts';
import { testDatabase } from '../support/database.ts';
import {
  aDirectory,
  anIssuing,
  aRoot,
  change,
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

type ConfigMap = {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly data: Readonly<Record<string, string>>;
};

test('the roots of a Directory are mirrored with their label, put right when spoilt, and go with it', async () => {
  await using cluster = await testCluster();
  await using database = await testDatabase();
  const { admin } = cluster;
  const trust = await cluster.namespace();
  const operator = await installOperator(cluster, { trustManager: { namespace: trust } });
  const env = { ACMERY_TRUST_NAMESPACE: trust };
  await using acmery = await operator.serve({ databaseUrl: database.url, env });
  const { namespace } = operator;
  // The name and the value of its label are too long to stand as they are.
  const longName = `web-${'x'.repeat(200)}`;
  const directories = [aDirectory(operator), aDirectory(operator, longName, { slug: `${namespace}-long` })];
  const [web] = directories;
  if (web === undefined) throw new Error('There is no Directory.');
  const all = [aRoot(operator), anIssuing(operator), ...directories];
  const path = `/api/v1/namespaces/${trust}/configmaps`;
  const copies = async (): Promise<readonly ConfigMap[]> => {
    const { items } = await admin.request<{ items: readonly ConfigMap[] }>({
      method: 'GET',
      path: `${path}?labelSelector=acmery.io/trust`,
    });
    return items;
  };
  // Somebody else's, which has the name of a copy.
  const foreign = `${namespace}.taken-acme`;
  await admin.request({ method: 'POST', path, body: { metadata: { name: foreign }, data: { theirs: 'yes' } } });

  await createAll(admin, all);
  await untilReady(admin, all);
  const name = `${namespace}.web-acme`;
  const made = (await copies()).find(({ metadata }) => metadata.name === name);
  const source = `/api/v1/namespaces/${namespace}/configmaps/web-acme`;
  expect(made?.data).toEqual((await admin.request<ConfigMap>({ method: 'GET', path: source })).data);
  expect(made?.data['roots.pem']).toContain('BEGIN CERTIFICATE');
  expect(made?.metadata.labels).toEqual({
    'acmery.io/trust': `${namespace}.web`,
    'app.kubernetes.io/managed-by': 'acmery',
  });
  expect(await copies()).toHaveLength(2);

  const contentType = 'application/merge-patch+json';
  const spoilt = { data: { 'roots.pem': 'theirs', more: 'theirs' } };
  await admin.request({ method: 'PATCH', path: `${path}/${name}`, contentType, body: spoilt });
  await change(admin, web, { metadata: { annotations: { 'acmery.io/reconcile-requested-at': 'now' } } });
  await eventually('it is right again', async () => {
    const { data } = await admin.request<ConfigMap>({ method: 'GET', path: `${path}/${name}` });
    return JSON.stringify(data) === JSON.stringify(made?.data);
  });

  const taken = aDirectory(operator, 'taken');
  await createAll(admin, [taken]);
  await eventually('the other name is told', async () => {
    const { status } = await admin.request<{ status: { conditions?: readonly { reason: string }[] } }>({
      method: 'GET',
      path: `/apis/acmery.io/v1/namespaces/${namespace}/directories/taken`,
    });
    return status.conditions?.some(({ reason }) => reason === 'ConfigMapConflict') ?? false;
  });

  for (const directory of [...directories, taken]) await remove(admin, directory);
  await untilGone(admin, [...directories, taken]);
  expect(await copies()).toEqual([]);
  expect((await admin.request<ConfigMap>({ method: 'GET', path: `${path}/${foreign}` })).data).toEqual({
    theirs: 'yes',
  });
  expect(troublesOf(acmery)).toEqual([]);
  expect(refusalsOf(await operator.requests())).toEqual([]);
});
