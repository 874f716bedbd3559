// The operator role: every replica follows the declared objects, and the one that leads reconciles them.
import { onOwnedChanges } from '../core/owned-changes.ts';
import { Periodic } from '../core/periodic.ts';
import { type KindName, keyOf, keyText, kindNames, type Resource, type ResourceKey } from '../resources/resource.ts';
import type { SigningCertResource } from '../resources/signing-cert-resource.ts';
import { ClaimIndex } from './claims.ts';
import { isReady, wasReady } from './conditions.ts';
import { Controller } from './controller.ts';
import type { Change, Leadership, SecretChange } from './ports.ts';
import type { Gone, OperatorContext } from './reconciler.ts';
import { reconcilers, relationsOf } from './reconcilers.ts';
import { ReferrerIndex } from './references.ts';
import { secretsOf } from './user-secret.ts';

export type OperatorOptions = Omit<OperatorContext, 'referrers' | 'claimants'> & {
  readonly leadership: Leadership;
  /** Between 0 and 1. */
  readonly random: () => number;
  /** How often rows are compared with the objects that they belong to. */
  readonly comparisonMs?: number;
  /** What else the one that leads does, until the signal aborts. */
  readonly beside?: (anchors: OperatorContext['anchors'], leading: AbortSignal) => Promise<void>;
};

const COMPARISON_MS = 600_000;

/** Runs until it is disposed of; then waits for the visits under way. */
export function startOperator(options: OperatorOptions): AsyncDisposable {
  const operator = new Operator(options);
  const stopping = new AbortController();
  const leading = options.leadership.lead((signal) => operator.lead(signal), stopping.signal);
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await leading;
    },
  };
}

class Operator {
  readonly #context: OperatorContext;
  readonly #controllers: Readonly<Record<KindName, Pick<Controller<never>, 'enqueue' | 'shown' | 'run'>>>;
  readonly #referrers = new ReferrerIndex((resource) => relationsOf(resource.kind).references(resource));
  readonly #claimants = new ClaimIndex((resource) => relationsOf(resource.kind).claims?.(resource) ?? []);
  /** What objects that are gone held on to, until what they left behind is settled. */
  readonly #held = new Map<string, readonly string[]>();
  readonly #comparisonMs: number;
  readonly #beside: OperatorOptions['beside'];
  #isLeading = false;

  constructor({ leadership: _, random, comparisonMs = COMPARISON_MS, beside, ...world }: OperatorOptions) {
    this.#comparisonMs = comparisonMs;
    this.#beside = beside;
    this.#context = { ...world, referrers: this.#referrers, claimants: this.#claimants };
    const controllerOf = <R extends Resource>(reconciler: ConstructorParameters<typeof Controller<R>>[1]) =>
      new Controller<R>(this.#context, reconciler, { random, settled: (key) => this.#release(key) });
    this.#controllers = {
      SigningCert: controllerOf(reconcilers.SigningCert),
      Directory: controllerOf(reconcilers.Directory),
      ExternalBinding: controllerOf(reconcilers.ExternalBinding),
      AcmeKey: controllerOf(reconcilers.AcmeKey),
    };
    world.source.follow({
      changed: (change) => this.#changed(change),
      namespaceChanged: (namespace) => this.#namespaceChanged(namespace),
      secretChanged: (secret) => this.#secretChanged(secret),
    });
  }

  /** Reconciles until the signal aborts; what was begun has ended then. */
  async lead(leading: AbortSignal): Promise<void> {
    const { ca, source } = this.#context;
    await source.synced(leading);
    this.#isLeading = true;
    try {
      await using scope = new AsyncDisposableStack();
      scope.use(onOwnedChanges(ca, { changed: (key) => this.#enqueue(key), listening: () => this.#enqueueAll() }));
      scope.use(this.#comparing());
      this.#enqueueAll();
      await Promise.all([
        ...Object.values(this.#controllers).map((controller) => controller.run(leading)),
        this.#beside?.(this.#context.anchors, leading),
      ]);
    } finally {
      this.#isLeading = false;
    }
  }

  #changed({ key, before, after }: Change): void {
    this.#referrers.change(before, after);
    const released = this.#claimants.change(before, after);
    if (!this.#isLeading) return;
    if (after !== undefined) this.#controllers[key.kind].shown(after);
    if (needsVisit(before, after)) this.#enqueue(key, (after ?? before)?.metadata.uid);
    if (showsToReferrers(before, after)) this.#wakeReferrers(key);
    if (isLeaving(before, after)) this.#wakeWaiting(before ?? after);
    if (released.length === 0) return;
    this.#held.set(keyText(key), released);
    const isSettledLater = after === undefined && relationsOf(key.kind).gone !== undefined;
    if (!isSettledLater) this.#release(key);
  }

  /** The others who want what it held look again. */
  #release(key: ResourceKey): void {
    const claims = this.#held.get(keyText(key)) ?? [];
    this.#held.delete(keyText(key));
    for (const claim of claims) for (const claimant of this.#claimants.of(claim)) this.#enqueue(claimant);
  }

  /** Its labels may permit other references now, and a namespace that goes holds nothing back. */
  #namespaceChanged(namespace: string): void {
    if (!this.#isLeading) return;
    for (const kind of kindNames) {
      for (const resource of this.#context.source.list(kind)) {
        if (resource.metadata.namespace === namespace) this.#enqueue(keyOf(resource));
      }
    }
  }

  /** Whom it was made for, and those whose spec names it. */
  #secretChanged({ namespace, name, owner }: SecretChange): void {
    if (!this.#isLeading) return;
    if (owner !== undefined) this.#enqueue(owner);
    for (const resource of this.#context.source.list('SigningCert')) {
      const isNamed = secretsOf(resource as SigningCertResource).includes(name);
      if (isNamed && resource.metadata.namespace === namespace) this.#enqueue(keyOf(resource));
    }
  }

  #enqueueAll(): void {
    for (const kind of kindNames) {
      for (const resource of this.#context.source.list(kind))
        this.#controllers[kind].enqueue(keyOf(resource), 'glance', resource.metadata.uid);
    }
  }

  #enqueue(key: ResourceKey, uid?: string): void {
    this.#controllers[key.kind].enqueue(key, 'high', uid);
  }

  /** Whoever is ready probably stays as it is, and need not be looked at thoroughly. */
  #wakeReferrers(key: ResourceKey): void {
    for (const referrer of this.#referrers.to(key)) {
      const resource = this.#context.source.get(referrer);
      const isSettled = resource !== undefined && isReady(resource);
      this.#controllers[referrer.kind].enqueue(referrer, isSettled ? 'glance' : 'high');
    }
  }

  /** What is being deleted waits for those who refer to it: one of them goes. */
  #wakeWaiting(resource: Resource | undefined): void {
    if (resource === undefined) return;
    for (const key of relationsOf(resource.kind).references(resource)) {
      if (this.#context.source.get(key)?.metadata.deletionTimestamp !== undefined) this.#enqueue(key);
    }
  }

  /** Rows whose objects went while nobody led: those that two comparisons miss are settled. */
  #comparing(): Periodic {
    const { ca, source } = this.#context;
    let missed = new Set<string>();
    const task = async (): Promise<void> => {
      const missing: Gone[] = [];
      for (const kind of kindNames) {
        const origins = (await relationsOf(kind).origins?.(this.#context)) ?? [];
        missing.push(...origins.filter((object) => source.get(object) === undefined));
      }
      for (const object of missing) if (missed.has(textOf(object))) this.#enqueue(keyOfGone(object), object.uid);
      missed = new Set(missing.map(textOf));
    };
    const onError = (error: unknown): void => ca.events.taskFailed({ task: 'origin_comparison', attempt: 1, error });
    const comparing = new Periodic({ intervalMs: this.#comparisonMs, task, onError });
    void comparing.runNow();
    return comparing;
  }
}

const keyOfGone = ({ kind, namespace, name }: Gone): ResourceKey => ({ kind, namespace, name });

const textOf = (object: Gone): string => `${keyText(object)} ${object.uid}`;

/** Not for a status that we have written ourselves. */
function needsVisit(before: Resource | undefined, after: Resource | undefined): boolean {
  if (before === undefined || after === undefined) return true;
  const [was, is] = [before.metadata, after.metadata];
  return (
    was.generation !== is.generation ||
    was.deletionTimestamp !== is.deletionTimestamp ||
    JSON.stringify([was.annotations, was.labels]) !== JSON.stringify([is.annotations, is.labels])
  );
}

const showsToReferrers = (before: Resource | undefined, after: Resource | undefined): boolean =>
  before === undefined ||
  after === undefined ||
  isLeaving(before, after) ||
  (!isReady(before) && isReady(after)) ||
  (wasReady(before) && !wasReady(after)) ||
  relationsOf(after.kind).showsToReferrers(before, after);

const isLeaving = (before: Resource | undefined, after: Resource | undefined): boolean =>
  after === undefined ||
  (after.metadata.deletionTimestamp !== undefined && before?.metadata.deletionTimestamp === undefined);
