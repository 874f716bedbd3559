// One kind's controller: takes a key, looks at its object, runs the steps, writes the status once, and plans the next visit.
import { annotationOf, isAnnotated } from '../resources/annotations.ts';
import { FINALIZER, type Resource, type ResourceKey } from '../resources/resource.ts';
import { conditionOf, conditionsAfter, conditionsPaused } from './conditions.ts';
import { outcomeOf, type Retry } from './outcomes.ts';
import { done, type OperatorContext, type Outcome, type Reconciler, type Step } from './reconciler.ts';
import { StatusWriter } from './status-writer.ts';
import { type News, UntoldEvents } from './untold.ts';
import { beginVisit, type VisitInMaking } from './visit.ts';
import { type Priority, type Taken, WorkQueue } from './work-queue.ts';

export type ControllerOptions = {
  /** Between 0 and 1. */
  readonly random: () => number;
  /** What an object that is gone has left behind is settled. */
  readonly settled?: (key: ResourceKey) => void;
};

type Result = Outcome | Retry;

const USUAL_CONCURRENCY = 4;
const VISIT_MS = 60_000;
const SAFETY_VISIT_MS = 600_000;
const SAFETY_JITTER = 0.1;
/** What goes wrong so many times in a row is told; a shorter trouble leaves a ready object ready. */
const TOLD_FAILURES = 5;

export class Controller<R extends Resource> {
  readonly #operator: OperatorContext;
  readonly #reconciler: Reconciler<R>;
  readonly #random: () => number;
  readonly #settled: ControllerOptions['settled'];
  readonly #queue: WorkQueue;
  readonly #keys = new Map<string, ResourceKey>();
  /** Of the objects that had these names when they were last heard of. */
  readonly #uids = new Map<string, string>();
  readonly #writer: StatusWriter;
  readonly #untold = new UntoldEvents();

  constructor(operator: OperatorContext, reconciler: Reconciler<R>, { random, settled }: ControllerOptions) {
    const { clock, events } = operator.ca;
    this.#operator = operator;
    this.#reconciler = reconciler;
    this.#random = random;
    this.#settled = settled;
    this.#writer = new StatusWriter(operator.source);
    this.#queue = new WorkQueue({ now: () => clock.now(), random, events: events.workQueue(reconciler.kind) });
  }

  /** `uid` where it is known which object has the name, or had it last. */
  enqueue(key: ResourceKey, priority: Priority = 'high', uid?: string): void {
    const text = textOf(key);
    this.#keys.set(text, key);
    if (uid !== undefined) this.#uids.set(text, uid);
    this.#queue.add(text, priority);
  }

  /** The copy in memory shows this now. */
  shown(resource: Resource): void {
    this.#writer.shown(textOf(resource.metadata), resource);
  }

  /** Works until the signal aborts; resolves when the visits under way have ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { concurrency = USUAL_CONCURRENCY } = this.#reconciler;
    await Promise.all(Array.from({ length: concurrency }, () => this.#work(signal)));
    this.#queue.clear();
    this.#keys.clear();
    this.#uids.clear();
    this.#untold.clear();
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (;;) {
      const taken = await this.#queue.take(signal);
      if (taken === undefined) return;
      const key = this.#keys.get(taken.key);
      if (key !== undefined) await this.#visit(taken, key, signal);
      this.#queue.finish(taken.key);
    }
  }

  /** Never throws: what goes wrong is told and tried again. */
  async #visit(taken: Taken, key: ResourceKey, leading: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([leading, AbortSignal.timeout(VISIT_MS)]);
    const { events } = this.#operator.ca;
    const { kind } = this.#reconciler;
    const text = taken.key;
    try {
      const result = await this.#reconcile(taken, key, signal);
      events.reconciled({ kind, outcome: result.outcome });
      if (result.outcome === 'retry') this.#queue.retry(text);
    } catch (error) {
      if (leading.aborted) return;
      const failures = this.#queue.retry(text);
      // What could not be written now is no bug.
      if (outcomeOf(error)?.outcome === 'retry') events.reconciled({ kind, outcome: 'retry' });
      else events.reconcileFailed({ kind, object: text, failures, error });
    }
  }

  async #reconcile({ key: text, priority }: Taken, key: ResourceKey, signal: AbortSignal): Promise<Result> {
    const found = this.#operator.source.get(key) as R | undefined;
    if (found === undefined) return this.#settleGone(text, key, signal);
    const seen = this.#writer.current(text, found);
    if (isAnnotated(seen, 'paused')) return this.#pause(text, seen, signal);
    const isDeleting = seen.metadata.deletionTimestamp !== undefined;
    // Nothing can be made there any more; that the object is deleted, too, will be told.
    if (!isDeleting && this.#isNamespaceGoing(seen)) return done;
    const { resource, failure } = await this.#withFinalizer(seen, signal);
    const untold = this.#untold.of(text, resource.metadata.uid);
    const visit = beginVisit(resource, { signal, isThorough: priority !== 'glance', untold });
    const run = (): Promise<Result> =>
      isDeleting ? this.#delete(resource, visit) : resultOf(() => this.#run(this.#reconciler.steps, visit));
    const result = failure ?? (await run());
    const isGoing = isDeleting && result.outcome === 'done';
    if (!isGoing) await this.#tell(text, { seen, visit }, result);
    this.#plan(text, result, visit);
    return result;
  }

  async #settleGone(text: string, key: ResourceKey, signal: AbortSignal): Promise<Result> {
    const uid = this.#uids.get(text);
    const result = await resultOf(async () => {
      const { gone } = this.#reconciler;
      const isGone = uid !== undefined && gone && (await this.#operator.source.isGone(key, uid, signal));
      if (isGone) await gone(this.#operator, { ...key, uid }, signal);
      return done;
    });
    if (result.outcome === 'retry') return result;
    this.#queue.forget(text);
    this.#keys.delete(text);
    this.#uids.delete(text);
    this.#writer.forget(text);
    this.#untold.forget(text);
    this.#settled?.(key);
    return result;
  }

  async #pause(text: string, resource: R, signal: AbortSignal): Promise<Result> {
    const conditions = conditionsPaused(resource, this.#operator.ca.clock.now());
    const isNew = conditionOf(resource, 'Paused') === undefined;
    await this.#writer.write(text, { seen: resource, resource }, { ...resource.status, conditions }, signal);
    if (isNew)
      this.#record(resource, { type: 'Normal', reason: 'ReconciliationPaused', note: 'Paused by annotation.' });
    this.#queue.forget(text);
    return done;
  }

  /** The object with its finalizer, where it needs one, before anything is done for it. */
  async #withFinalizer(seen: R, signal: AbortSignal): Promise<{ readonly resource: R; readonly failure?: Result }> {
    const isGoing = seen.metadata.deletionTimestamp !== undefined;
    if (isGoing || hasFinalizer(seen) || !this.#reconciler.needsFinalizer(seen)) return { resource: seen };
    let resource = seen;
    const result = await resultOf(async () => {
      resource = ((await this.#operator.source.setFinalizer(seen, true, signal)) as R | undefined) ?? seen;
      return done;
    });
    return result.outcome === 'done' ? { resource } : { resource, failure: result };
  }

  async #delete(resource: R, visit: VisitInMaking<R>): Promise<Result> {
    if (!hasFinalizer(resource)) return done;
    return resultOf(async () => {
      const isForced = isAnnotated(resource, 'forceDelete');
      const outcome = isForced ? done : await this.#run(this.#reconciler.deletion, visit);
      if (outcome.outcome === 'done') await this.#operator.source.setFinalizer(resource, false, visit.signal);
      return outcome;
    });
  }

  async #run(steps: readonly Step<R>[], visit: VisitInMaking<R>): Promise<Outcome> {
    for (const step of steps) {
      visit.signal.throwIfAborted();
      const outcome = await step(this.#operator, visit);
      if (outcome.outcome !== 'done') return outcome;
    }
    return done;
  }

  /** The one write of the status, and the events of what has changed. */
  async #tell(
    text: string,
    { seen, visit }: { readonly seen: R; readonly visit: VisitInMaking<R> },
    result: Result,
  ): Promise<void> {
    const { resource } = visit;
    const isPassing = result.outcome === 'retry' && this.#queue.failures(text) < TOLD_FAILURES && wasVisited(resource);
    if (isPassing) return;
    const before = conditionOf(resource, 'Ready');
    const outcome = result.outcome === 'retry' ? 'wait' : result.outcome;
    const told =
      result.outcome === 'done'
        ? { reason: 'Succeeded', message: 'Everything that this object declares is in place.', isRetry: false }
        : { reason: result.reason, message: result.message, isRetry: result.outcome === 'retry' };
    const now = this.#operator.ca.clock.now();
    const requestedAt = annotationOf(resource, 'reconcileRequestedAt');
    const status = {
      ...visit.status,
      observedGeneration: resource.metadata.generation,
      conditions: conditionsAfter(resource, { outcome, told, own: visit.own, now }),
      ...(requestedAt !== undefined && { lastHandledReconcileAt: requestedAt }),
    };
    const untold = this.#untold.of(text, resource.metadata.uid);
    const isNews = result.outcome !== 'done' && before?.reason !== result.reason;
    const type = outcome === 'stalled' ? 'Warning' : 'Normal';
    if (isNews) untold.notReady({ type, reason: told.reason, note: told.message });
    await this.#writer.write(text, { seen, resource }, status, visit.signal);
    for (const event of untold.with(told.reason)) this.#record(resource, event);
    this.#untold.forget(text);
  }

  #isNamespaceGoing({ metadata }: R): boolean {
    return this.#operator.source.namespace(metadata.namespace)?.isTerminating === true;
  }

  #record(resource: R, event: News): void {
    const action = resource.metadata.deletionTimestamp === undefined ? 'Reconcile' : 'Delete';
    this.#operator.events.record(resource, { action, ...event });
  }

  #plan(text: string, result: Result, visit: VisitInMaking<R>): void {
    if (result.outcome === 'retry') return;
    this.#queue.forgive(text);
    const jitter = 1 + SAFETY_JITTER * (2 * this.#random() - 1);
    const asked = result.outcome === 'wait' ? result.afterMs : undefined;
    this.#queue.addAfter(text, asked ?? SAFETY_VISIT_MS * jitter);
    const next = visit.nextVisit();
    if (next !== undefined) {
      this.#queue.addAfter(text, Math.max(0, next.getTime() - this.#operator.ca.clock.now().getTime()));
    }
  }
}

const textOf = ({ namespace, name }: Pick<ResourceKey, 'namespace' | 'name'>): string => `${namespace}/${name}`;

const hasFinalizer = ({ metadata }: Resource): boolean => metadata.finalizers?.includes(FINALIZER) ?? false;

const wasVisited = ({ status }: Resource): boolean => (status?.observedGeneration ?? -1) >= 0;

/** Refusals are outcomes; anything else is thrown on. */
async function resultOf(work: () => Promise<Outcome>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const result = outcomeOf(error);
    if (result === undefined) throw error;
    return result;
  }
}
