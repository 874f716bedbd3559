// What a running program and the API server say of its work: its metrics, and its writes in the audit log.
import { setTimeout as pause } from 'node:timers/promises';
import type { ServingAcmery } from '../../support/acmery-process.ts';
import type { AuditedRequest } from '../../support/plane/audit.ts';
import type { TestCluster } from '../../support/plane/test-cluster.ts';
import { USER } from './world.ts';

const SETTLE_MS = 500;
const POLL_MS = 20;
const DEADLINE_MS = 600_000;

/** The sum over all of its label sets that hold `labels`; 0 before there is one. */
async function metricOf({ opsUrl }: Pick<ServingAcmery, 'opsUrl'>, name: string, labels = ''): Promise<number> {
  const text = await fetch(`${opsUrl}/metrics`).then(
    (reply) => reply.text(),
    () => '',
  );
  const lines = text.split('\n').filter((line) => line.startsWith(name) && line.includes(labels));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** Visits of ExternalBindings so far. */
export const bindingVisits = (acmery: Pick<ServingAcmery, 'opsUrl'>): Promise<number> =>
  metricOf(acmery, 'controller_runtime_reconcile_total', 'controller="ExternalBinding"');

/** The time at which so many visits had been made. */
export async function untilVisits(acmery: Pick<ServingAcmery, 'opsUrl'>, count: number): Promise<number> {
  const deadline = performance.now() + DEADLINE_MS;
  while ((await bindingVisits(acmery)) < count) {
    if (performance.now() > deadline) throw new Error(`${count} visits were not made within ${DEADLINE_MS} ms.`);
    await pause(POLL_MS);
  }
  return performance.now();
}

export const residentMb = async (acmery: Pick<ServingAcmery, 'opsUrl'>): Promise<number> =>
  (await metricOf(acmery, 'process_resident_memory_bytes')) / 1e6;

const WRITES = new Set(['create', 'update', 'patch', 'delete']);
/** Renewals of leadership, which take place anyway. */
const isWrite = ({ verb, resource }: AuditedRequest): boolean => WRITES.has(verb) && resource !== 'leases';

/** The writes that the program has asked for so far, once no more come. */
export async function writesOf(cluster: TestCluster): Promise<readonly AuditedRequest[]> {
  let before = -1;
  for (;;) {
    const writes = (await cluster.requestsOf(USER)).filter(isWrite);
    if (writes.length === before) return writes;
    before = writes.length;
    await pause(SETTLE_MS);
  }
}

/** `create secrets 1,000, patch externalbindings/status 1,000`. */
export function summaryOf(writes: readonly AuditedRequest[]): string {
  const counts = Map.groupBy(
    writes,
    ({ verb, resource, status }) => `${verb} ${resource}${status < 300 ? '' : ` (${status})`}`,
  );
  return writes.length === 0
    ? 'none'
    : [...counts].map(([what, { length }]) => `${length.toLocaleString('en')} ${what}`).join(', ');
}
