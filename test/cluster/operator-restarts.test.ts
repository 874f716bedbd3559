// What a restart finds: nothing new is left as it is, what went meanwhile is settled, and a new database is filled from what
// the cluster keeps.
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { withoutHelm } from '../support/chart.ts';
import { testCluster } from '../support/cluster.ts';
import { testDatabase } from '../support/database.ts';
import {
  aBinding,
  aChain,
  change,
  createAll,
  type Live,
  live,
  remove,
  untilGone,
  untilReady,
} from '../support/declared-chain.ts';
import { eventually } from '../support/eventually.ts';
import { installOperator, refusalsOf, troublesOf, untilLeads } from '../support/installed-operator.ts';

vi.setConfig({ testTimeout: 150_000 });
beforeEach(({ skip }) => {
  const reason = withoutHelm();
  if (reason !== undefined) skip(reason);
});

const BINDINGS = 40;
const COMPARISON_MS = 600_000;

test('a restart writes nothing, and a look that is asked for writes the answer alone', async () => {
  await using cluster = await testCluster();
  await using database = await testDatabase();
  const { admin } = cluster;
  const operator = await installOperator(cluster);
  const databaseUrl = database.url;
  const chain = aChain(operator);
  const bindings = Array.from({ length: BINDINGS }, (_, index) => aBinding(operator, `binding-${index}`));
  // The worker makes keys of its own in its own time.
  const env = { ACMERY_ROLES: 'server,operator' };
  {
    await using acmery = await operator.serve({ databaseUrl, env });
    await createAll(admin, [...chain, ...bindings]);
    await untilReady(admin, [...chain, ...bindings]);
    await acmery.stop('SIGTERM');
  }
  const before = await Promise.all([...chain, ...bindings].map((object) => live(admin, object)));
  const written = (await operator.writes()).length;

  await using acmery = await operator.serve({ databaseUrl, env });
  await untilLeads(operator, 'replica-2');
  const visits = `controller_runtime_reconcile_total{controller="ExternalBinding",result="success"}`;
  await eventually('all were looked at', async () => (await metric(acmery.opsUrl, visits)) > BINDINGS);
  expect(await Promise.all([...chain, ...bindings].map((object) => live(admin, object)))).toEqual(before);
  // The audit log may be a moment late: what follows is in it after whatever came before.
  const [first] = bindings;
  if (first === undefined) throw new Error('no binding');
  await change(admin, first, { metadata: { annotations: { 'acmery.io/reconcile-requested-at': 'now' } } });
  await eventually('it is answered', async () => (await live(admin, first)).status.lastHandledReconcileAt === 'now');
  const isLogged = async (): Promise<boolean> => (await operator.writes()).length > written;
  await eventually('the answer is logged', isLogged);
  expect((await operator.writes()).slice(written).map(({ verb, resource, name }) => [verb, resource, name])).toEqual([
    ['patch', 'externalbindings/status', 'binding-0'],
  ]);
  expect(troublesOf(acmery)).toEqual([]);
});

test('a binding that went while nobody looked leaves no token', async () => {
  await using cluster = await testCluster();
  await using database = await testDatabase();
  const { admin } = cluster;
  const operator = await installOperator(cluster);
  const databaseUrl = database.url;
  const chain = aChain(operator);
  const lost = aBinding(operator, 'lost');
  {
    await using acmery = await operator.serve({ databaseUrl });
    await createAll(admin, [...chain, lost]);
    await untilReady(admin, [...chain, lost]);
    await acmery.stop('SIGTERM');
  }
  await remove(admin, lost);
  await untilGone(admin, [lost]);
  // Two comparisons have to miss it.
  const preload = join(import.meta.dirname, '../support/hurried-timers.ts');
  const env = { NODE_OPTIONS: `--import=${preload}`, HURRIED_TIMERS: JSON.stringify({ [COMPARISON_MS]: 1_000 }) };
  await using acmery = await operator.serve({ databaseUrl, env });
  const [, , directory] = await untilReady(admin, chain);
  const query = { directory_id: `${directory?.status.id}` };
  const names = async () => (await acmery.listed('external_bindings', query)).map(({ name }) => name);
  await eventually('its token is gone', async () => !(await names()).includes('lost'), 20_000);
  expect(await names()).toEqual(['shop']);
  expect(troublesOf(acmery)).toEqual([]);
});

test('with a new database the CAs come back from their Secrets, the same as before', async () => {
  await using cluster = await testCluster();
  await using former = await testDatabase();
  await using database = await testDatabase();
  const { admin } = cluster;
  const operator = await installOperator(cluster);
  const chain = aChain(operator);
  let before: readonly Live[] = [];
  {
    await using acmery = await operator.serve({ databaseUrl: former.url });
    await createAll(admin, chain);
    before = await untilReady(admin, chain);
    await acmery.stop('SIGTERM');
  }
  await using acmery = await operator.serve({ databaseUrl: database.url });
  await untilLeads(operator, 'replica-2');
  await eventually('the directory is served', async () => {
    return (await acmery.acme(`/acme/${operator.namespace}-web/directory`)).status === 200;
  });
  const after = await untilReady(admin, chain);
  const kept = ({ metadata: { name }, status }: Live) => ({
    name,
    fingerprint: status.fingerprint,
    serial: status.serial,
    publicCert: status.publicCert,
    secretName: status.secretName,
    slug: status.slug,
    keyId: status.keyId,
    thumbprint: status.thumbprint,
  });
  expect(after.map(kept)).toEqual(before.map(kept));
  const certs = await acmery.listed('signing_certs');
  expect(certs.map(({ public_cert }) => public_cert).sort()).toEqual(
    before.flatMap(({ status }) => (status.publicCert === undefined ? [] : [status.publicCert])).sort(),
  );
  expect(troublesOf(acmery)).toEqual([]);
  expect(refusalsOf(await operator.requests())).toEqual([]);
});

async function metric(opsUrl: string, name: string): Promise<number> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text();
  const line = text.split('\n').find((candidate) => candidate.startsWith(name));
  return Number(line?.slice(name.length) ?? 0);
}
