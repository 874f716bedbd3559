// The main comparison: whole orders with real http-01 on each server in turn, A B C A B C, so that what else happens on the
// machine falls on all of them; then one order at a time.
import { setTimeout as pause } from 'node:timers/promises';
import { shown, spread, tableLines } from '../figure.ts';
import { between, type Counters, countersOf, diskBytes } from './counters.ts';
import {
  cpuMs,
  doneIn,
  failuresIn,
  measure,
  percentilesOf,
  perOrder,
  perSecond,
  requestKinds,
  requestsPerOrder,
} from './measure.ts';
import type { AcmeLoadResult } from './run-load.ts';
import type { BenchServer } from './server.ts';

const IN_FLIGHT = 16;
/** Idle connections report to the statistics of Postgres what they have done after 10 s. */
const REPORT_MS = 11_000;
const LATENCY_POLL = { firstMs: 5, factor: 1 };

export type Measured = {
  readonly server: BenchServer;
  /** With 16 in flight. */
  readonly rounds: readonly AcmeLoadResult[];
  readonly counted: Counters | undefined;
  readonly bytesPerCert: number | undefined;
  /** With one in flight. */
  readonly alone: AcmeLoadResult;
  readonly countedAlone: Counters | undefined;
};

export type Length = { readonly rounds: number; readonly seconds: number; readonly aloneSeconds: number };

export async function measureRounds(servers: readonly BenchServer[], length: Length): Promise<readonly Measured[]> {
  const { rounds, seconds, aloneSeconds } = length;
  const orders = (server: BenchServer, most: number) =>
    measure(server, { job: 'orders', inFlight: IN_FLIGHT, seconds: most });
  // Just-in-time compilers and caches get what they need before anything is counted.
  for (const server of servers) await orders(server, seconds / 2);
  await pause(REPORT_MS);
  const before = await each(servers, standing);
  const results = servers.map((): AcmeLoadResult[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, server] of servers.entries()) results[index]?.push(await orders(server, seconds));
  }
  await pause(REPORT_MS);
  const counters = await each(servers, countersOf);
  const after = await each(servers, standing);
  const alone = await each(servers, (server) =>
    measure(server, { job: 'orders', inFlight: 1, seconds: aloneSeconds, poll: LATENCY_POLL }),
  );
  await pause(REPORT_MS);
  return each(servers, async (server, index) => {
    const [own, itself] = [results[index], alone[index]];
    if (own === undefined || itself === undefined) throw new Error(`${server.name} was not measured.`);
    const bytes = difference(before[index]?.bytes, after[index]?.bytes);
    return {
      server,
      rounds: own,
      counted: between(before[index]?.counters, counters[index]),
      bytesPerCert: bytes === undefined ? undefined : bytes / doneIn(own),
      alone: itself,
      countedAlone: between(after[index]?.counters, await countersOf(server)),
    };
  });
}

type Standing = { readonly bytes: number | undefined; readonly counters: Counters | undefined };

/** Counted after the vacuum, which is no work of the server. */
const standing = async (server: BenchServer): Promise<Standing> => ({
  bytes: await diskBytes(server),
  counters: await countersOf(server),
});

const difference = (before: number | undefined, after: number | undefined): number | undefined =>
  before === undefined || after === undefined ? undefined : after - before;

/** One after the other. */
async function each<T>(
  servers: readonly BenchServer[],
  work: (server: BenchServer, index: number) => Promise<T>,
): Promise<readonly T[]> {
  const results: T[] = [];
  for (const [index, server] of servers.entries()) results.push(await work(server, index));
  return results;
}

export function comparison(measured: readonly Measured[]): readonly string[] {
  const head = ['http-01 orders, 16 in flight', 'orders/s', 'p50 ms', 'p95', 'p99', 'failed'];
  const cpu = ['CPU ms/order', 'server', 'Postgres', 'load', 'server RSS MB'];
  const work = ['requests/order', 'transactions', 'writing', 'flushes', 'bytes/cert'];
  const lines = measured.map(({ server, rounds, counted, bytesPerCert }) => {
    const whole = percentilesOf(rounds, 'orders');
    const done = doneIn(rounds);
    const failed = [...failuresIn(rounds).values()].reduce((total, count) => total + count, 0);
    const times = [whole?.p50Ms, whole?.p95Ms, whole?.p99Ms].map((value) => shown(value));
    const used = [['server', 'postgres'], ['server'], ['postgres'], ['load']] as const;
    const counts = (['commits', 'writing', 'flushes'] as const).map((of) => shown(perOrder(counted, done, of)));
    return [
      ...[server.name, spread(perSecond(rounds, 'orders'), '', 0), ...times, `${failed} of ${failed + done}`],
      ...used.map((who) => shown(cpuMs(rounds, 'orders', who), 2)),
      shown(rounds.at(-1)?.rssMb.server, 0),
      ...[shown(requestsPerOrder(rounds)), ...counts, shown(bytesPerCert, 0)],
    ];
  });
  return [...tableLines([[...head, ...cpu, ...work], ...lines]), ...reasons(measured)];
}

const reasons = (measured: readonly Measured[]): readonly string[] =>
  measured.flatMap(({ server, rounds, alone }) =>
    [...failuresIn([...rounds, alone])].map(([reason, count]) => `  ${server.name} failed ${count} times: ${reason}`),
  );

export function requestTimes(measured: readonly Measured[]): readonly string[] {
  const kinds = [...requestKinds, 'orders'].filter((kind) =>
    measured.some(({ rounds }) => percentilesOf(rounds, kind)),
  );
  const lines = (title: string, resultsOf: (one: Measured) => readonly AcmeLoadResult[]) =>
    tableLines([
      [title, ...kinds],
      ...measured.map((one) => {
        const cells = kinds.map((kind) => {
          const times = percentilesOf(resultsOf(one), kind);
          return times === undefined
            ? '-'
            : [times.p50Ms, times.p95Ms, times.p99Ms].map((ms) => ms.toFixed(1)).join('/');
        });
        return [one.server.name, ...cells];
      }),
    ]);
  return [
    ...lines('p50/p95/p99 ms, 16 in flight', ({ rounds }) => rounds),
    '',
    ...lines('p50/p95/p99 ms, 1 in flight', ({ alone }) => [alone]),
  ];
}
