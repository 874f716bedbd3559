// Events of the operator: a part of events.ts. The metrics have the names that controllers of this kind usually have.
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

export type ReconcileOutcome = 'done' | 'wait' | 'stalled' | 'retry';

type ObjectEventFacts = {
  readonly object: string;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly note: string;
};
type ManifestsRead = { readonly folder: string; readonly objects: number; readonly problems: readonly string[] };

export const operatorEvents = (log: Log, metrics: Metrics) => ({
  /** Of the queue of one kind. */
  workQueue: (name: string) => ({
    queued(depth: number): void {
      metrics.workQueueAdds.add({ name });
      metrics.workQueueDepth.set({ name }, depth);
    },
    taken(depth: number, waitedMs: number): void {
      metrics.workQueueDepth.set({ name }, depth);
      metrics.workQueueSeconds.observe({ name }, waitedMs / 1000);
    },
    retried(): void {
      metrics.workQueueRetries.add({ name });
    },
  }),
  reconciled({ kind, outcome }: { readonly kind: string; readonly outcome: ReconcileOutcome }): void {
    metrics.reconciles.add({ controller: kind, result: reconcileResults[outcome] });
    if (outcome === 'stalled') metrics.terminalReconcileErrors.add({ controller: kind });
  },
  reconcileFailed(event: {
    readonly kind: string;
    readonly object: string;
    readonly failures: number;
    readonly error: unknown;
  }): void {
    metrics.reconciles.add({ controller: event.kind, result: 'error' });
    metrics.reconcileErrors.add({ controller: event.kind });
    log.error(event, 'a custom resource could not be reconciled; it is tried again');
  },
  /** Something happened to a custom resource of a folder. */
  objectEvent({ type, note, ...event }: ObjectEventFacts): void {
    log[type === 'Warning' ? 'warn' : 'info'](event, note);
  },
  /** A folder of manifests has changed, or can be read no more. */
  manifestsRead({ folder, objects, problems }: ManifestsRead): void {
    metrics.manifestProblems.set({}, problems.length);
    for (const problem of problems) log.error({ folder }, `a manifest is not taken: ${problem}`);
    log.info({ folder, objects, problems: problems.length }, 'manifests read');
  },
});

/** controller-runtime's words. */
const reconcileResults = {
  done: 'success',
  wait: 'requeue_after',
  stalled: 'error',
  retry: 'requeue',
} as const satisfies Record<ReconcileOutcome, string>;
