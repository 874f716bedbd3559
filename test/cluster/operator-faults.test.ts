// The program under the faults of what it depends on: after each of them everything converges, by the same process, and no
// CA is made twice or has lost its key.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, inject, test, vi } from 'vitest';
import { usualPlaces } from '../../src/postgres/binaries.ts';
import { startPostgres } from '../../src/postgres/cluster.ts';
import { withoutHelm } from '../support/chart.ts';
import { ownCluster } from '../support/cluster.ts';
import {
  aBinding,
  aChain,
  change,
  createAll,
  type Declared,
  type Live,
  live,
  remove,
  untilReady,
} from '../support/declared-chain.ts';
import { eventually } from '../support/eventually.ts';
import { installOperator, troublesOf } from '../support/installed-operator.ts';
import { ourCrds } from '../support/plane/setup.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const PATIENCE_MS = 60_000;
/** As long as a watch that says nothing is believed in; usually it is a minute and a half. */
const hurried = { NODE_OPTIONS: `--import=${join(import.meta.dirname, '../support/hurried-timers.ts')}` };

const resources = new AsyncDisposableStack();
let world: Awaited<ReturnType<typeof aWorld>>;

vi.setConfig({ testTimeout: 150_000 });
beforeEach(({ skip }) => {
  const reason = withoutHelm();
  if (reason !== undefined) skip(reason);
});
beforeAll(async () => {
  if (withoutHelm() === undefined && !('unavailable' in inject('plane'))) world = await aWorld();
}, 120_000);
afterAll(() => resources.disposeAsync());

/** A plane, a Postgres and a program that reaches both over a network which may fail; all tests share it. */
async function aWorld() {
  const { plane, cluster } = resources.use(await ownCluster({ crds: await ourCrds() }));
  const dataDir = await mkdtemp(join(tmpdir(), 'acmery-faults-'));
  resources.defer(() => rm(dataDir, { recursive: true, force: true }));
  const places = await usualPlaces(process.env.PATH ?? '');
  const postgres = resources.use(await startPostgres({ dataDir, places, settings: { fsync: 'off' } }));
  const network = resources.use(await TcpProxy.to({ host: '127.0.0.1', port: Number(new URL(cluster.server).port) }));
  await network.mend();
  const operator = await installOperator(cluster);
  const server = `https://127.0.0.1:${network.port}`;
  const env = { ...hurried, HURRIED_TIMERS: JSON.stringify({ 90000: 3_000 }) };
  const acmery = resources.use(await operator.serve({ server, databaseUrl: postgres.url, env }));
  const chain = aChain(operator);
  await createAll(cluster.admin, chain);
  const before = await untilReady(cluster.admin, chain, PATIENCE_MS);
  const killPostgres = async (): Promise<void> => {
    const [pid] = (await readFile(join(dataDir, 'postgres/cluster/postmaster.pid'), 'utf8')).split('\n');
    process.kill(Number(pid), 'SIGQUIT');
  };
  return { plane, cluster, admin: cluster.admin, network, operator, acmery, chain, before, killPostgres };
}

const bindings = (prefix: string, count: number): readonly Declared[] =>
  Array.from({ length: count }, (_, index) => aBinding(world.operator, `${prefix}-${index}`));

/** What was there before is as it was, what came since is ready too, and nothing was made twice. */
async function expectWhole(added: readonly Declared[]): Promise<void> {
  const { admin, chain, before, acmery, operator } = world;
  await untilReady(admin, added, PATIENCE_MS);
  const after = await untilReady(admin, chain, PATIENCE_MS);
  expect(after.map(identityOf)).toEqual(before.map(identityOf));
  expect(await acmery.listed('signing_certs')).toHaveLength(2);
  const selector = encodeURIComponent('acmery.io/key-kind=signing-cert');
  const path = `/api/v1/namespaces/${operator.namespace}/secrets?labelSelector=${selector}`;
  const { items } = await admin.request<{ items: readonly { metadata: { name: string } }[] }>({ method: 'GET', path });
  const named = after.filter(({ kind }) => kind === 'SigningCert').map(({ status }) => status.secretName);
  expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(named.sort());
  expect(troublesOf(acmery)).toEqual([]);
}

const identityOf = ({ metadata: { name, uid }, status }: Live) => ({
  name,
  uid,
  id: status.id,
  fingerprint: status.fingerprint,
  thumbprint: status.thumbprint,
  secretName: status.secretName,
  secretHash: status.secretHash,
});

test('the API server restarts in the midst of it', async () => {
  const added = bindings('restart', 20);
  await createAll(world.admin, added);
  await world.plane.restartApiServer();
  await expectWhole(added);
});

test('etcd forgets what was while the program could not look', async () => {
  const { admin, network, plane, acmery } = world;
  const [gone, ...added] = bindings('forgotten', 3);
  if (gone === undefined) throw new Error('no binding');
  await createAll(admin, [gone]);
  await untilReady(admin, [gone], PATIENCE_MS);
  await network.cut();
  await remove(admin, gone);
  await createAll(admin, added);
  await plane.forgetHistory();
  await network.mend();
  await expectWhole(added);
  const directory = { directory_id: `${world.before[2]?.status.id}` };
  const names = async () => (await acmery.listed('external_bindings', directory)).map(({ name }) => name);
  await eventually('the token of the binding that went is gone', async () => !(await names()).includes('forgotten-0'));
});

test('the API server becomes a black hole', async () => {
  const { admin, network, acmery, operator } = world;
  const added = bindings('black-hole', 3);
  const losses = () => acmery.lines().filter(({ message }) => message === 'no longer leading').length;
  const before = losses();
  network.silence();
  await createAll(admin, added);
  await eventually('it leads no longer', () => losses() > before, PATIENCE_MS);
  // What was declared before is served all the time.
  expect(await acmery.acme(`/acme/${operator.namespace}-web/directory`)).toMatchObject({ status: 200 });
  await network.mend();
  await expectWhole(added);
});

test('Postgres crashes in the midst of it', async () => {
  const added = bindings('crash', 30);
  await createAll(world.admin, added);
  await world.killPostgres();
  await expectWhole(added);
});

test('the API server has no room for the program', async () => {
  const { admin, operator, cluster } = world;
  const collection = '/apis/flowcontrol.apiserver.k8s.io/v1';
  const jail = { apiVersion: 'flowcontrol.apiserver.k8s.io/v1', metadata: { name: 'jail' } };
  const limited = { nominalConcurrencyShares: 0, borrowingLimitPercent: 0, limitResponse: { type: 'Reject' } };
  const level = { ...jail, kind: 'PriorityLevelConfiguration', spec: { type: 'Limited', limited } };
  const all = ['*'];
  const rule = {
    subjects: [{ kind: 'User', user: { name: operator.user } }],
    resourceRules: [{ verbs: all, apiGroups: all, resources: all, namespaces: all, clusterScope: true }],
  };
  const spec = { priorityLevelConfiguration: { name: 'jail' }, matchingPrecedence: 2, rules: [rule] };
  await admin.request({ method: 'POST', path: `${collection}/prioritylevelconfigurations`, body: level });
  await admin.request({
    method: 'POST',
    path: `${collection}/flowschemas`,
    body: { ...jail, kind: 'FlowSchema', spec },
  });
  const refused = async () => (await cluster.requestsOf(operator.user)).filter(({ status }) => status === 429).length;
  const isKnown = async (): Promise<boolean> => {
    const { status } = await admin.request<{ status?: object }>({
      method: 'GET',
      path: `${collection}/flowschemas/jail`,
    });
    return status !== undefined;
  };
  await eventually('the API server knows how little room there is', isKnown);
  // One request at a time, and the program has several things to do.
  const added = bindings('jailed', 40);
  await createAll(admin, added);
  await eventually('it is refused again and again', async () => (await refused()) > 5, PATIENCE_MS);
  await admin.request({ method: 'DELETE', path: `${collection}/flowschemas/jail` });
  await expectWhole(added);
});

test('after all of it a look at everything writes nothing new', async () => {
  const { admin, chain, before, operator } = world;
  const writes = (await operator.writes()).length;
  const annotation = { 'acmery.io/reconcile-requested-at': 'at last' };
  for (const object of chain) await change(admin, object, { metadata: { annotations: annotation } });
  for (const object of chain) {
    await eventually(
      `${object.kind} ${object.metadata.name} was looked at`,
      async () => {
        return (await live(admin, object)).status.lastHandledReconcileAt === 'at last';
      },
      PATIENCE_MS,
    );
  }
  const since = async () => (await operator.writes()).slice(writes);
  // The API server notes a request after its answer, and everybody may see before what came of it.
  await eventually('the audit log has as many', async () => (await since()).length >= before.length);
  expect(
    (await since()).map(({ verb, resource, name, status }) => `${verb} ${resource} ${name} ${status}`).sort(),
  ).toEqual(before.map(({ kind, metadata: { name } }) => `patch ${plurals[kind]}/status ${name} 200`).sort());
});

const plurals = {
  SigningCert: 'signingcerts',
  Directory: 'directories',
  ExternalBinding: 'externalbindings',
  AcmeKey: 'acmekeys',
} as const;
