// Our own server when it has grown old: a million certificates in its database, 20,000 orders in one life of its process.
import { type Figure, shown } from '../figure.ts';
import { seedDatabase } from '../seed.ts';
import { startAcmery } from './acmery.ts';
import { ratio } from './goals.ts';
import { cpuMs, doneIn, failuresIn, measure, newApplicants, percentilesOf } from './measure.ts';
import type { AcmeLoadResult } from './run-load.ts';
import type { BenchServer } from './server.ts';

const SMALL = 1_000;
const PARTS = 4;
const ORDERS_PER_PART = 5_000;

/** The same orders, in turn, on a server with few certificates and on one with a million. */
export async function millionCerts(length: { rounds: number; seconds: number }): Promise<readonly Figure[]> {
  await using few = await startAcmery('few');
  await using many = await startAcmery('many', (url) => seedDatabase(url, { durable: true }));
  const results = new Map<BenchServer, AcmeLoadResult[]>();
  for (const server of [few, many]) {
    const applicants = await newApplicants(server, 16, 'auto_approve');
    await measure(server, { job: 'orders', inFlight: 16, most: SMALL, seconds: 60, applicants });
    results.set(server, []);
  }
  for (let round = 0; round < length.rounds; round++) {
    for (const [server, rounds] of results) {
      rounds.push(await measure(server, { job: 'orders', inFlight: 16, seconds: length.seconds }));
    }
  }
  const of = (server: BenchServer) => {
    const rounds = results.get(server) ?? [];
    return [cpuMs(rounds, 'orders', ['server', 'postgres']), percentilesOf(rounds, 'orders')?.p50Ms] as const;
  };
  const [[cpuFew, p50Few], [cpuMany, p50Many]] = [of(few), of(many)];
  return [
    {
      what: 'CPU ms per order at 1,000,000 certs, of that at 1,000',
      measured: `${ratio(cpuMany, cpuFew)} (${shown(cpuMany)} of ${shown(cpuFew)})`,
      goal: 'goal 1.15 or less',
    },
    {
      what: 'p50 of an order at 1,000,000 certs, of that at 1,000',
      measured: `${ratio(p50Many, p50Few)} (${shown(p50Many)} of ${shown(p50Few)} ms)`,
      goal: 'goal 1.15 or less',
    },
  ];
}

export async function memory(ours: BenchServer): Promise<readonly Figure[]> {
  const parts: AcmeLoadResult[] = [];
  for (let part = 0; part < PARTS; part++) {
    parts.push(await measure(ours, { job: 'orders', inFlight: 16, most: ORDERS_PER_PART, seconds: 75 }));
  }
  const sizes = parts.map(({ rssMb }) => shown(rssMb.server, 0));
  const failed = [...failuresIn(parts).values()].reduce((total, count) => total + count, 0);
  return [
    {
      what: `RSS after ${doneIn(parts).toLocaleString('en')} more orders, by quarters`,
      measured: `${sizes.join(', ')} MB${failed > 0 ? `; ${failed} orders failed` : ''}`,
      goal: 'goal 180 MB or less after 20,000, and flat',
    },
  ];
}
