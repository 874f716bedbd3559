// One controller over objects of a stand-in for a cluster, whose steps the test says.
import { ClaimIndex } from '../../src/operator/claims.ts';
import { Controller } from '../../src/operator/controller.ts';
import { done, type OperatorContext, type Outcome, type Reconciler, type Step } from '../../src/operator/reconciler.ts';
import { ReferrerIndex } from '../../src/operator/references.ts';
import type { Resource, ResourceKey } from '../../src/resources/resource.ts';
import { testCa } from './ca.ts';
import { declaredObjects } from './declared-objects.ts';
import { type Conditions, conditionsIn, untilConditions } from './object-conditions.ts';

export type Sample = Resource<'Directory', { readonly text?: string }, { observedGeneration: number; seen?: string }>;

export const key: ResourceKey = { kind: 'Directory', namespace: 'shop', name: 'web' };
/** A step that only notes something. */
export const doing =
  (note: (...visit: Parameters<Step<Sample>>) => unknown): Step<Sample> =>
  async (...visit) => {
    note(...visit);
    return done;
  };
export const stalled = {
  outcome: 'stalled',
  reason: 'SlugConflict',
  message: 'Choose another slug.',
} as const satisfies Outcome;

export async function aController(parts: Partial<Reconciler<Sample>>) {
  await using scope = new AsyncDisposableStack();
  const { ca, metrics, logLines } = scope.use(await testCa());
  const objects = declaredObjects(ca.clock);
  const { source, outputs, events } = objects;
  const operator: OperatorContext = {
    ca,
    source,
    outputs,
    events,
    referrers: new ReferrerIndex(() => []),
    claimants: new ClaimIndex(() => []),
    namespace: 'acmery-system',
    caNamespaces: ['acmery-system'],
    anchors: () => undefined,
  };
  const reconciler: Reconciler<Sample> = {
    kind: 'Directory',
    references: () => [],
    needsFinalizer: () => false,
    showsToReferrers: () => false,
    steps: [],
    deletion: [],
    ...parts,
  };
  const controller = new Controller(operator, reconciler, { random: () => 0.5 });
  const stopping = new AbortController();
  source.follow({
    changed: ({ key, before, after }) => controller.enqueue(key, 'high', (after ?? before)?.metadata.uid),
    namespaceChanged: () => undefined,
  });
  const running = controller.run(stopping.signal);
  scope.defer(async () => {
    stopping.abort();
    await running;
  });
  const conditions = () => conditionsIn(objects, key);
  const apply = (text = 'a') => objects.apply({ ...key, spec: { text } });
  const told = (expected: Conditions) => untilConditions(objects, key, expected);
  const opened = scope.move();
  return {
    objects,
    controller,
    conditions,
    apply,
    told,
    metrics,
    logLines,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
