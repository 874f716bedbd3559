// Deletion: what is in use waits, nothing waits for ever, and the database may be away.
import { beforeEach, expect, test, vi } from 'vitest';
import { withoutHelm } from '../support/chart.ts';
import { testCluster } from '../support/cluster.ts';
import { testDatabase } from '../support/database.ts';
import {
  aBinding,
  aChain,
  aDirectory,
  anAcmeKey,
  anIssuing,
  aRoot,
  change,
  createAll,
  type Declared,
  live,
  readyOf,
  remove,
  untilGone,
  untilReady,
} from '../support/declared-chain.ts';
import { eventually } from '../support/eventually.ts';
import { installOperator, refusalsOf, troublesOf } from '../support/installed-operator.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

vi.setConfig({ testTimeout: 150_000 });
beforeEach(({ skip }) => {
  const reason = withoutHelm();
  if (reason !== undefined) skip(reason);
});

/** The program, a database that can be taken away, and one of each kind. */
async function given() {
  await using scope = new AsyncDisposableStack();
  const cluster = scope.use(await testCluster());
  const database = scope.use(await testDatabase());
  const url = new URL(database.url);
  const network = scope.use(await TcpProxy.to({ host: url.hostname, port: Number(url.port) }));
  await network.mend();
  url.port = `${network.port}`;
  const operator = await installOperator(cluster);
  const acmery = scope.use(await operator.serve({ databaseUrl: url.href, env: { ACMERY_CA_NAMESPACES: '*' } }));
  const resources = scope.move();
  const reasonOf = async (object: Declared) => readyOf(await live(cluster.admin, object))?.reason;
  return {
    cluster,
    admin: cluster.admin,
    network,
    operator,
    acmery,
    untilBlocked: (object: Declared) =>
      eventually(`${object.metadata.name} is blocked`, async () => (await reasonOf(object)) === 'DeletionBlocked'),
    async expectNoTrouble() {
      expect(troublesOf(acmery)).toEqual([]);
      expect(refusalsOf(await operator.requests())).toEqual([]);
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

test('everything is deleted from the root on: each waits for those who use it, and is gone when they are', async () => {
  await using it = await given();
  const { admin, operator } = it;
  const policy = { deletionPolicy: 'Delete' };
  const root = aRoot(operator, 'root', policy);
  const issuing = anIssuing(operator, 'issuing', policy);
  const directory = aDirectory(operator);
  const [binding, acmeKey] = [aBinding(operator), anAcmeKey(operator)];
  const all = [root, issuing, directory, binding, acmeKey];
  await createAll(admin, all);
  await untilReady(admin, all);

  await remove(admin, root);
  await it.untilBlocked(root);
  await remove(admin, issuing);
  await it.untilBlocked(issuing);
  await remove(admin, directory);
  await it.untilBlocked(directory);
  expect(readyOf(await live(admin, directory))?.message).toContain(`AcmeKey ${operator.namespace}/edge`);
  // What is on its way out serves until then.
  expect(await it.acmery.acme(`/acme/${operator.namespace}-web/directory`)).toMatchObject({ status: 200 });
  await remove(admin, binding);
  await remove(admin, acmeKey);
  await untilGone(admin, all);
  expect(await it.acmery.listed('signing_certs')).toEqual([]);
  await it.expectNoTrouble();
});

test('a namespace goes with all that is in it', async ({ skip }) => {
  await using it = await given();
  const { admin, operator, cluster } = it;
  if (!cluster.hasControllers) skip('namespaces are ended by kube-controller-manager, which is not here');
  const place = { namespace: await cluster.namespace(), labels: operator.labels };
  const chain = aChain(place);
  await createAll(admin, chain);
  await untilReady(admin, chain);
  // Their last steps need the database, which comes back only later.
  await it.network.cut();
  const path = `/api/v1/namespaces/${place.namespace}`;
  await admin.request({ method: 'DELETE', path });
  const isGoing = async (): Promise<boolean> => {
    const objects = await Promise.all(chain.map((object) => live(admin, object).catch(() => undefined)));
    return objects.every((object) => object === undefined || object.metadata.deletionTimestamp !== undefined);
  };
  await eventually('all of it is being deleted', isGoing, 30_000);
  await it.network.mend();
  await untilGone(admin, chain, 45_000);
  const isGone = async (): Promise<boolean> => {
    const found = await admin.request({ method: 'GET', path }).catch(() => undefined);
    return found === undefined;
  };
  await eventually('the namespace is gone', isGone, 45_000);
  await it.expectNoTrouble();
});

test('what is forced to go goes without the database', async () => {
  await using it = await given();
  const { admin, operator } = it;
  const root = aRoot(operator);
  await createAll(admin, [root]);
  await untilReady(admin, [root]);
  await it.network.cut();
  await remove(admin, root);
  await change(admin, root, { metadata: { annotations: { 'acmery.io/force-delete': 'true' } } });
  await untilGone(admin, [root]);
  await it.network.mend();
  await it.expectNoTrouble();
});
