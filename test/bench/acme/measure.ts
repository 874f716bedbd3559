// Loads on a server, and what comes of one or several of them per order.
import { median } from '../figure.ts';
import type { Counters } from './counters.ts';
import { type AcmeLoad, type AcmeLoadResult, type Applicant, runAcmeLoad } from './run-load.ts';
import type { BenchServer } from './server.ts';
import type { Percentiles, Watched } from './tally.ts';

type Wanted = Partial<Omit<AcmeLoad, 'directoryUrl' | 'ca' | 'responder' | 'watch'>> &
  Pick<AcmeLoad, 'job' | 'inFlight' | 'seconds'>;

const WARM_UP = 0.2;

/** Clients pause between their questions, the longer the longer it takes. */
const poll = { firstMs: 10, factor: 2 };

/** A new account for each connection: that of one host each, as they are. */
export async function measure(server: BenchServer, wanted: Wanted): Promise<AcmeLoadResult> {
  const { openDirectoryUrl, ca, responder, watch } = server;
  const directoryUrl = wanted.job === 'accounts' ? (openDirectoryUrl ?? server.directoryUrl) : server.directoryUrl;
  const hasAccounts = wanted.job === 'orders' || wanted.job === 'new-orders';
  const applicants = wanted.applicants ?? (hasAccounts ? await newApplicants(server, wanted.inFlight) : []);
  // A load of so many is over when they are done, which may be soon.
  const usual = { warmUpSeconds: wanted.most === undefined ? wanted.seconds * WARM_UP : 0, poll };
  return runAcmeLoad({ ...usual, ...wanted, directoryUrl, ca, responder, watch, applicants });
}

export async function newApplicants(
  { newEab }: BenchServer,
  count: number,
  orderValidations: 'challenge' | 'auto_approve' = 'challenge',
): Promise<readonly Applicant[]> {
  const applicants: Applicant[] = [];
  for (let index = 0; index < count; index++) {
    applicants.push(newEab === undefined ? {} : { eab: await newEab(orderValidations) });
  }
  return applicants;
}

/** Milliseconds of processor time for each that was done. Undefined where it cannot be read. */
export function cpuMs(results: readonly AcmeLoadResult[], job: string, who: readonly (Watched | 'load')[]) {
  const used = results.flatMap(({ cpu }) => who.map((one) => cpu[one] ?? (one === 'postgres' ? 0 : Number.NaN)));
  const ms = (1_000 * sum(used)) / sum(results.map(({ kinds }) => kinds[job]?.count ?? 0));
  return Number.isFinite(ms) ? ms : undefined;
}

export const perSecond = (results: readonly AcmeLoadResult[], job: string): readonly number[] =>
  results.map(({ kinds, seconds }) => (kinds[job]?.count ?? 0) / seconds);

/** The median of the rounds. */
export function percentilesOf(results: readonly AcmeLoadResult[], kind: string): Percentiles | undefined {
  const rounds = results.flatMap(({ kinds }) => kinds[kind] ?? []);
  if (rounds.length === 0) return undefined;
  const middle = (of: (one: Percentiles) => number) => median(rounds.map(of));
  return {
    count: sum(rounds.map(({ count }) => count)),
    p50Ms: middle(({ p50Ms }) => p50Ms),
    p95Ms: middle(({ p95Ms }) => p95Ms),
    p99Ms: middle(({ p99Ms }) => p99Ms),
  };
}

/** Kinds of requests in the order in which a client comes to them. */
export const requestKinds = [
  'new-nonce',
  'new-account',
  'new-order',
  'authorization',
  'challenge',
  'poll',
  'finalize',
  'poll-order',
  'certificate',
] as const;

export function requestsPerOrder(results: readonly AcmeLoadResult[]): number {
  const requests = requestKinds.map((kind) => percentilesOf(results, kind)?.count ?? 0);
  return sum(requests) / (percentilesOf(results, 'orders')?.count ?? 0);
}

export const doneIn = (results: readonly AcmeLoadResult[]): number => sum(results.map(({ done }) => done));

export const failuresIn = (results: readonly AcmeLoadResult[]): ReadonlyMap<string, number> => {
  const failures = new Map<string, number>();
  for (const [reason, count] of results.flatMap((result) => Object.entries(result.failures))) {
    failures.set(reason, (failures.get(reason) ?? 0) + count);
  }
  return failures;
};

export const perOrder = (counters: Counters | undefined, orders: number, of: keyof Counters): number | undefined =>
  counters && counters[of] / orders;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
