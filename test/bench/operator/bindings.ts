// ExternalBindings: made, looked at again because their Directory has changed, and looked at after a restart.
import type { KubernetesObject } from '../../../src/kubernetes/kubernetes-object.ts';
import { API_VERSION } from '../../../src/resources/resource.ts';
import type { ServingAcmery } from '../../support/acmery-process.ts';
import { queryOnce } from '../acme/server.ts';
import { type Figure, spread } from '../figure.ts';
import { usageOf } from '../process-usage.ts';
import { createEach, createMany } from './creation.ts';
import { milliseconds, numbered } from './many.ts';
import { bindingVisits, residentMb, summaryOf, untilVisits, writesOf } from './observed.ts';
import { bindingOf, bindingsPath, givenDirectory, makeNamespace, NAMESPACE, type World } from './world.ts';

const BATCH = 1_000;
const SINGLE = 100;

type Round = {
  readonly each: readonly number[];
  readonly readySeconds: number;
  /** Of the program and Postgres, and of the programs of the cluster. */
  readonly cpuMs: readonly (number | undefined)[];
  readonly writes: string;
};

type Extent = {
  /** How often 1,000 are made. */
  readonly rounds: number;
  /** How many there are at the last restart. */
  readonly many: number;
};

export async function benchBindings(world: World, extent: Extent): Promise<readonly Figure[]> {
  const rounds: Round[] = [];
  const others: Figure[] = [];
  {
    await using acmery = await started(world);
    await givenDirectory(world.cluster);
    rounds.push(await round(world, acmery, 0));
    others.push(...(await directoryChanged(world, acmery)));
    await acmery.stop('SIGTERM');
  }
  others.push(...(await restarted(world, 'goal 190 MB')));
  {
    await using acmery = await started(world);
    for (let count = 1; count < extent.rounds; count++) rounds.push(await round(world, acmery, count));
    await makeNamespace(world.cluster, 'filled');
    const missing = extent.many - (await bindingCount(world));
    await createMany(world.cluster.admin, bindingsPath('filled'), numbered('fill', missing), bindingOf);
    await acmery.stop('SIGTERM');
  }
  others.push(...(await restarted(world, 'goals 15 s, none, 260 MB')));
  return [...createdFigures(rounds), ...others];
}

async function started(world: World, args: readonly string[] = []): Promise<ServingAcmery> {
  const acmery = await world.start(args);
  await acmery.untilReady();
  return acmery;
}

/** Throws where one of those that are ready has no Secret or no row. */
async function round(world: World, acmery: ServingAcmery, number: number): Promise<Round> {
  const { cluster, databaseUrl, plane, postgresPid } = world;
  const namespace = `bindings-${number}`;
  await makeNamespace(cluster, namespace);
  const path = bindingsPath(namespace);
  const each = await createEach(cluster.admin, path, numbered('one', SINGLE), bindingOf);
  const writesBefore = await writesOf(cluster);
  const ours = [acmery.child.pid, postgresPid];
  const theirs = [plane.apiServer.pid, plane.etcd.pid, plane.controllerManager?.pid];
  const cpuBefore = [cpuSeconds(ours), cpuSeconds(theirs)];
  const { readySeconds } = await createMany(cluster.admin, path, numbered('many', BATCH), bindingOf);
  const writes = summaryOf((await writesOf(cluster)).slice(writesBefore.length));
  // Once the events have been sent, too.
  const cpuMs = [cpuSeconds(ours), cpuSeconds(theirs)].map((after, index) => {
    const before = cpuBefore[index];
    return before === undefined || after === undefined ? undefined : ((after - before) * 1_000) / BATCH;
  });
  await mustBeThere(world, databaseUrl, namespace);
  return { each, readySeconds, cpuMs, writes };
}

async function mustBeThere({ cluster }: World, databaseUrl: string, namespace: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  const { items } = await cluster.admin.request<{ items: readonly KubernetesObject[] }>({ method: 'GET', path });
  const [row] = await queryOnce(
    databaseUrl,
    `select count(*)::int as count from external_bindings where origin_namespace = '${namespace}' and deleted_at is null`,
  );
  const wanted = BATCH + SINGLE;
  if (items.length < wanted || row?.count !== wanted)
    throw new Error(`Of ${wanted} ready bindings ${items.length} have a Secret and ${row?.count} a row.`);
}

const createdFigures = (rounds: readonly Round[]): readonly Figure[] => [
  {
    what: '1,000 bindings to Ready, 16 writers',
    measured: spread(
      rounds.map(({ readySeconds }) => readySeconds),
      's',
    ),
    goal: 'goal 7 s',
  },
  {
    what: 'one binding to Ready',
    measured: milliseconds(rounds.flatMap(({ each }) => each)),
    goal: 'goals 25 ms, 60 ms',
  },
  ...['server and Postgres', 'API server, etcd and controllers'].map((whose, index) => ({
    what: `processor time of a binding, ${whose}`,
    measured: spread(
      rounds.map(({ cpuMs }) => cpuMs[index] ?? Number.NaN),
      'ms',
      1,
    ),
    goal: '',
  })),
  ...rounds.map(({ writes }) => ({ what: 'API writes for 1,000 bindings', measured: writes, goal: 'goal 3,000' })),
];

/** One change that bindings do not see, and one that each of them has to be held against. */
async function directoryChanged(world: World, acmery: ServingAcmery): Promise<readonly Figure[]> {
  const bindings = await bindingCount(world);
  const labels = { 'kubernetes.io/metadata.name': NAMESPACE };
  const everywhere = {
    from: 'Selector',
    selector: { matchExpressions: [{ key: Object.keys(labels)[0], operator: 'Exists' }] },
  };
  return [
    await change(world, acmery, { certMaxDays: 30 }, `Directory changed under ${bindings} bindings, nothing for them`),
    await change(
      world,
      acmery,
      { allowedNamespaces: everywhere },
      `Directory lets others in, ${bindings} bindings held against it`,
      bindings,
    ),
  ];
}

async function change(
  { cluster }: World,
  acmery: ServingAcmery,
  spec: object,
  what: string,
  expectedVisits = 0,
): Promise<Figure> {
  const before = { writes: await writesOf(cluster), visits: await bindingVisits(acmery) };
  const path = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/directories/web`;
  const begunMs = performance.now();
  await cluster.admin.request({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body: { spec } });
  const seconds = ((await untilVisits(acmery, before.visits + expectedVisits)) - begunMs) / 1_000;
  const writes = (await writesOf(cluster)).slice(before.writes.length);
  const visits = (await bindingVisits(acmery)) - before.visits;
  return {
    what,
    measured: `${seconds.toFixed(2)} s, ${visits} visits, writes: ${summaryOf(writes)}`,
    goal: 'goal 2 s',
  };
}

async function restarted(world: World, goal: string): Promise<readonly Figure[]> {
  const bindings = await bindingCount(world);
  const before = await writesOf(world.cluster);
  const begunMs = performance.now();
  await using acmery = await world.start(['--roles', 'operator']);
  const firstMs = (await untilVisits(acmery, 1)) - begunMs;
  const seconds = ((await untilVisits(acmery, bindings)) - begunMs) / 1_000;
  const writes = summaryOf((await writesOf(world.cluster)).slice(before.length));
  const rss = await residentMb(acmery);
  await acmery.stop('SIGTERM');
  const count = bindings.toLocaleString('en');
  return [
    {
      what: `restart with ${count} bindings, all visited`,
      measured: `${seconds.toFixed(2)} s, writes: ${writes}, ${rss.toFixed(0)} MB`,
      goal,
    },
    {
      what: `exec to first visit with ${count} bindings`,
      measured: `${(firstMs / 1_000).toFixed(2)} s`,
      goal: 'peer 0.27 s',
    },
  ];
}

async function bindingCount({ databaseUrl }: World): Promise<number> {
  const [row] = await queryOnce(
    databaseUrl,
    'select count(*)::int as count from external_bindings where deleted_at is null',
  );
  return Number(row?.count);
}

function cpuSeconds(pids: readonly (number | undefined)[]): number | undefined {
  const usages = pids.filter((pid) => pid !== undefined).map(usageOf);
  const known = usages.filter((usage) => usage !== undefined);
  return known.length < usages.length ? undefined : known.reduce((sum, usage) => sum + usage.cpuSeconds, 0);
}
