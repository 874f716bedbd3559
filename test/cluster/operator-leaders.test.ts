// Two replicas: who leads when the other one stops, dies or sleeps, and that nobody who asks notices it.
import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { withoutHelm } from '../support/chart.ts';
import { testCluster } from '../support/cluster.ts';
import { testDatabase } from '../support/database.ts';
import { aBinding, aChain, change, createAll, live, untilReady } from '../support/declared-chain.ts';
import { eventually } from '../support/eventually.ts';
import {
  type InstalledOperator,
  installOperator,
  refusalsOf,
  type ServingOperator,
  troublesOf,
  untilLeads,
} from '../support/installed-operator.ts';

beforeEach(({ skip }) => {
  const reason = withoutHelm();
  if (reason !== undefined) skip(reason);
});

const BINDINGS = 30;

test('a leader that sleeps longer than its lease, stops or dies is followed by the other', {
  timeout: 180_000,
}, async () => {
  await using cluster = await testCluster();
  await using database = await testDatabase();
  const { admin } = cluster;
  const operator = await installOperator(cluster);
  const databaseUrl = database.url;
  const first = await operator.serve({ databaseUrl });
  await using _ = first;
  await untilLeads(operator, 'replica-1');
  await using second = await operator.serve({ databaseUrl });
  const chain = aChain(operator);
  await createAll(admin, chain);
  const before = await untilReady(admin, chain);

  // In the midst of its work.
  const bindings = Array.from({ length: BINDINGS }, (_, index) => aBinding(operator, `binding-${index}`));
  await createAll(admin, bindings.slice(0, BINDINGS / 2));
  first.child.kill('SIGSTOP');
  const sleeps = performance.now();
  await using whileAsleep = askAllTheTime(second, operator);
  await createAll(admin, bindings.slice(BINDINGS / 2));
  await untilLeads(operator, 'replica-2');
  print('takeover from a leader that sleeps', sleeps);
  await untilReady(admin, bindings);
  for (const binding of bindings) await change(admin, binding, { spec: { name: 'renamed' } });
  const renamed = await untilReady(admin, bindings);
  const directory = { directory_id: `${before[2]?.status.id}` };
  const rows = await second.listed('external_bindings', directory);

  first.child.kill('SIGCONT');
  await eventually('it has noticed', () => first.lines().some(({ message }) => message === 'no longer leading'));
  // Both are there, and one of them leads: what it had in hand when it fell asleep has changed nothing.
  expect(await operator.leader()).toBe('replica-2');
  expect(await Promise.all(bindings.map((binding) => live(admin, binding)))).toEqual(renamed);
  expect(await second.listed('external_bindings', directory)).toEqual(rows);
  expect(await untilReady(admin, chain)).toEqual(before);

  await whileAsleep.expectServed();
  await using whileStopping = askAllTheTime(first, operator);
  const stops = performance.now();
  const { code } = await Promise.all([second.stop('SIGTERM'), untilLeads(operator, 'replica-1')]).then(([end]) => end);
  expect(code).toBe(0);
  print('takeover after a clean stop, with the end of the process', stops);
  await whileStopping.expectServed();
  await using third = await operator.serve({ databaseUrl });
  await using afterDeath = askAllTheTime(third, operator);
  const last = aBinding(operator, 'last');
  const dies = performance.now();
  await first.stop('SIGKILL');
  await createAll(admin, [last]);
  await untilReady(admin, [last]);
  print('takeover after a kill, with a binding that waited for it', dies);
  expect(await untilReady(admin, bindings)).toEqual(renamed);
  await afterDeath.expectServed();
  expect(await third.listed('signing_certs')).toHaveLength(2);
  expect(troublesOf(third)).toEqual([]);
  expect(refusalsOf(await operator.requests())).toEqual([]);
});

const print = (what: string, since: number): void =>
  console.log(`${what}: ${((performance.now() - since) / 1_000).toFixed(1)} s`);

/** The ACME and /v1 doors of a replica, until it is disposed of or judged. */
function askAllTheTime(acmery: ServingOperator, { namespace }: InstalledOperator) {
  const answers: number[] = [];
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      const acme = await acmery.acme(`/acme/${namespace}-web/directory`).catch(() => ({ status: 0 }));
      const api = await acmery.api('/v1/openapi.json').catch(() => ({ status: 0 }));
      if (!stopping.signal.aborted) answers.push(acme.status, api.status);
      await pause(50);
    }
  })();
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running;
  };
  return {
    async expectServed() {
      await stop();
      expect(answers.length).toBeGreaterThan(10);
      expect(new Set(answers)).toEqual(new Set([200]));
    },
    [Symbol.asyncDispose]: stop,
  };
}
