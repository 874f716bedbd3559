// Single questions to the servers beside the comparison: bursts, nonces, registrations, approved orders, many open orders.
import { type Figure, median, shown, spread } from '../figure.ts';
import { ratio } from './goals.ts';
import { cpuMs, failuresIn, measure, newApplicants, percentilesOf, perSecond } from './measure.ts';
import type { AcmeLoadResult, Applicant } from './run-load.ts';
import type { BenchServer } from './server.ts';

const BURST = 64;
const OPEN_ORDERS = 5_000;
const PEER_OPEN_ORDERS = 300;
const ASKED = 300;
const REGISTRATION_ROUNDS = 3;

/** Several orders of one account at the same time: each must come to its certificate. */
export async function bursts(servers: readonly BenchServer[]): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const server of servers) {
    const applicants = await newApplicants(server, 1);
    const load = { job: 'orders', inFlight: BURST, most: BURST, seconds: 60, applicants } as const;
    const result = await measure(server, load);
    const failed = [...failuresIn([result])].map(([reason, count]) => `${count} failed: ${reason}`);
    figures.push({
      what: `${BURST} parallel orders of one account: ${server.name}`,
      measured: failed.length === 0 ? 'none failed' : failed.join('; '),
      goal: server.name === 'acmery' ? 'goal no failure' : '',
    });
  }
  return figures;
}

export async function nonces(servers: readonly BenchServer[], seconds: number): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const server of servers) {
    const result = await measure(server, { job: 'nonces', inFlight: 32, seconds });
    figures.push({
      what: `newNonce: ${server.name}`,
      measured: `${shown(perSecond([result], 'nonces')[0], 0)}/s, p99 ${shown(percentilesOf([result], 'nonces')?.p99Ms)} ms`,
      goal: server.name === 'acmery' ? 'goal 8,000/s' : '',
    });
  }
  return figures;
}

/** Without EAB, which the peers here do not ask for. The servers take turns. */
export async function registrations(servers: readonly BenchServer[], seconds: number): Promise<readonly Figure[]> {
  const results = new Map(servers.map(({ name }) => [name, [] as AcmeLoadResult[]]));
  for (let round = 0; round < REGISTRATION_ROUNDS; round++) {
    for (const server of servers)
      results.get(server.name)?.push(await measure(server, { job: 'accounts', inFlight: 16, seconds }));
  }
  const rateOf = (name: string) => {
    const rounds = results.get(name);
    return rounds && median(perSecond(rounds, 'accounts'));
  };
  const figures = [...results].map(([name, rounds]): Figure => {
    const failed = [...failuresIn(rounds)].map(([reason, count]) => `, ${count} failed: ${reason}`);
    const rates = spread(perSecond(rounds, 'accounts'), 'a second', 0);
    return { what: `newAccount: ${name}`, measured: `${rates}${failed.join('')}`, goal: '' };
  });
  if (!results.has('acmery')) return figures;
  const measured = ratio(rateOf('acmery'), rateOf('step-ca-postgres'));
  return [...figures, { what: 'newAccount/s, of step-ca-postgres', measured, goal: 'goal 4 or more' }];
}

/** Three requests: newOrder, finalize, certificate. */
export async function approvedOrders(
  ours: BenchServer,
  seconds: number,
  badgerCpuMs: number | undefined,
): Promise<readonly Figure[]> {
  const applicants = await newApplicants(ours, 16, 'auto_approve');
  const result = await measure(ours, { job: 'orders', inFlight: 16, seconds, applicants });
  const cpu = cpuMs([result], 'orders', ['server', 'postgres']);
  const times = percentilesOf([result], 'orders');
  return [
    {
      what: 'auto_approve orders, 16 in flight',
      measured: `${shown(perSecond([result], 'orders')[0], 0)}/s, p50 ${shown(times?.p50Ms)} p99 ${shown(times?.p99Ms)} ms`,
      goal: '',
    },
    {
      what: 'CPU ms per auto_approve order, of step-ca-badger http-01',
      measured: `${ratio(cpu, badgerCpuMs)} (${shown(cpu)} of ${shown(badgerCpuMs)})`,
      goal: 'goal 0.65 or less, aim 0.45',
    },
  ];
}

export async function openOrders(servers: readonly BenchServer[], isQuick: boolean): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const server of servers) {
    const isOurs = server.name === 'acmery';
    if (!isOurs && (isQuick || server.name === 'pebble')) continue;
    const open = isOurs ? OPEN_ORDERS : PEER_OPEN_ORDERS;
    const [many, none] = [await withOpenOrders(server, open), await newApplicants(server, 1)];
    // Few, so that the account without any has few at the end.
    const ask = { job: 'new-orders', inFlight: 1, most: isOurs ? ASKED : 20, seconds: 60 } as const;
    // The first ones of all pay for what is new to the process.
    await measure(server, { ...ask, applicants: await newApplicants(server, 1) });
    const before = percentilesOf([await measure(server, { ...ask, applicants: none })], 'new-order')?.p50Ms;
    const after = percentilesOf([await measure(server, { ...ask, applicants: many })], 'new-order')?.p50Ms;
    figures.push({
      what: `newOrder at ${open.toLocaleString('en')} open orders, of none: ${server.name}`,
      measured: `${ratio(after, before)} (p50 ${shown(after)} of ${shown(before)} ms)`,
      goal: isOurs ? 'goal 1.2 or less' : '',
    });
  }
  return figures;
}

async function withOpenOrders(server: BenchServer, count: number): Promise<readonly Applicant[]> {
  const applicants = await newApplicants(server, 1);
  const begun = await measure(server, { job: 'new-orders', inFlight: 8, most: count, seconds: 120, applicants });
  return begun.accounts;
}
