// What the comparison has to show: our figures against those of the peers in the same run.
import { type Figure, median, shown } from '../figure.ts';
import { cpuMs, percentilesOf, perOrder, perSecond, requestsPerOrder } from './measure.ts';
import type { Measured } from './rounds.ts';
import type { ServerName } from './servers.ts';

type Of = (one: Measured) => number | undefined;

/** Server and Postgres together. */
export const cpuPerOrder: Of = ({ rounds }) => cpuMs(rounds, 'orders', ['server', 'postgres']);

const ordersPerSecond: Of = ({ rounds }) => median(perSecond(rounds, 'orders'));

export const ratio = (ours: number | undefined, peer: number | undefined): string =>
  shown(ours === undefined || peer === undefined ? undefined : ours / peer, 2);

export function goals(measured: readonly Measured[]): readonly Figure[] {
  const ours = measured.find(({ server }) => server.name === 'acmery');
  if (ours === undefined) return [];
  const against = (what: string, of: Of, peer: ServerName, goal: string): Figure => {
    const theirs = measured.find(({ server }) => server.name === peer);
    const [mine, other] = [of(ours), theirs && of(theirs)];
    return {
      what: `${what}, of ${peer}`,
      measured: `${ratio(mine, other)} (${shown(mine)} of ${shown(other)})`,
      goal,
    };
  };
  return [
    against('CPU ms per order', cpuPerOrder, 'step-ca-postgres', 'goal 0.3 or less, aim 0.2'),
    against('CPU ms per order', cpuPerOrder, 'step-ca-badger', 'goal 1.3 or less, aim 0.9'),
    against('orders/s at 16 in flight', ordersPerSecond, 'step-ca-postgres', 'goal 3 or more, aim 5'),
    against('orders/s at 16 in flight', ordersPerSecond, 'step-ca-pooled', 'goal 1.2 or more, aim 2'),
    against('orders/s at 16 in flight', ordersPerSecond, 'step-ca-badger', 'aim 1'),
    ...ownGoals(ours),
  ];
}

function ownGoals({ alone, countedAlone, bytesPerCert }: Measured): readonly Figure[] {
  const requests = requestsPerOrder([alone]);
  const writing = perOrder(countedAlone, alone.done, 'writing');
  return [
    {
      what: 'p50 of a whole order, 1 in flight, polled every 5 ms',
      measured: `${shown(percentilesOf([alone], 'orders')?.p50Ms)} ms`,
      goal: 'goal 12 ms on a quiet machine',
    },
    {
      // With one in flight each request spends its nonce in a transaction of its own.
      what: 'writing transactions per order, without those of nonces',
      measured: shown(writing === undefined ? undefined : writing - requests),
      goal: 'goal 8 or less',
    },
    {
      what: 'flushes of the log per order, 1 in flight',
      measured: `${shown(perOrder(countedAlone, alone.done, 'flushes'))} in ${shown(requests)} requests`,
      goal: 'goal 1 a request or less, none for nonces',
    },
    {
      what: 'bytes on disk per order, certificate and record, vacuumed',
      measured: shown(bytesPerCert, 0),
      goal: 'goal 6,000 or less',
    },
  ];
}
