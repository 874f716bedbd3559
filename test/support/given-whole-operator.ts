// The whole operator on objects of a stand-in for a cluster, with a real database behind it.
import { type OperatorOptions, startOperator } from '../../src/operator/operator.ts';
import { annotations } from '../../src/resources/annotations.ts';
import type { ResourceKey } from '../../src/resources/resource.ts';
import { testCa } from './ca.ts';
import { declaredObjects } from './declared-objects.ts';
import { eventually } from './eventually.ts';
import { type Conditions, conditionsIn } from './object-conditions.ts';

const ANCHOR = '-----BEGIN CERTIFICATE-----\nan anchor\n-----END CERTIFICATE-----\n';

export async function givenWholeOperator(options: { readonly caNamespaces?: OperatorOptions['caNamespaces'] } = {}) {
  await using scope = new AsyncDisposableStack();
  const test = scope.use(await testCa());
  const { ca } = test;
  const objects = declaredObjects(ca.clock);
  const start = () =>
    startOperator({
      ca,
      source: objects.source,
      outputs: objects.outputs,
      events: objects.events,
      namespace: 'acmery-system',
      caNamespaces: ['acmery-system'],
      anchors: () => ANCHOR,
      // Nobody else is there.
      leadership: { lead: (work, signal) => work(signal) },
      random: () => 0.5,
      ...options,
    });
  let running = start();
  scope.defer(() => running[Symbol.asyncDispose]());
  let asked = 0;

  const status = (key: ResourceKey): Readonly<Record<string, unknown>> => ({ ...objects.read(key)?.status });
  const conditionsOf = (key: ResourceKey) => objects.read(key)?.status?.conditions ?? [];
  const conditions = (key: ResourceKey): Conditions => conditionsIn(objects, key);
  const message = (key: ResourceKey, type = 'Ready'): string =>
    conditionsOf(key).find((one) => one.type === type)?.message ?? '';
  const isCurrent = (key: ResourceKey): boolean =>
    status(key).observedGeneration === objects.read(key)?.metadata.generation;
  /** Resolves when the conditions are these, of the spec as it is now. */
  const told = async (key: ResourceKey, expected: Readonly<Record<string, string>>): Promise<void> => {
    try {
      await eventually(
        `${key.name} says ${JSON.stringify(expected)}`,
        () => isCurrent(key) && Object.entries(expected).every(([type, value]) => conditions(key)[type] === value),
      );
    } catch (cause) {
      throw new Error(`${key.name} says ${JSON.stringify(conditionsOf(key))}`, { cause });
    }
  };
  /** Of the events, oldest first. */
  const reasons = (key: ResourceKey): readonly string[] =>
    objects.recorded
      .filter((one) => one.key.kind === key.kind && one.key.name === key.name)
      .map(({ reason }) => reason);
  const opened = scope.move();
  return {
    ca,
    objects,
    databaseUrl: test.databaseUrl,
    logLines: test.logLines,
    status,
    conditions,
    message,
    told,
    ready: (key: ResourceKey) => told(key, { Ready: 'True Succeeded' }),
    /** Another one in its place, which finds everything as it is. */
    restarted: async (): Promise<void> => {
      await running[Symbol.asyncDispose]();
      running = start();
    },
    /** Asks for a visit and waits for its end; what was asked of the cluster meanwhile. */
    visited: async (key: ResourceKey): Promise<readonly string[]> => {
      const token = `${++asked}`;
      const from = objects.requests.length;
      objects.annotate(key, { [annotations.reconcileRequestedAt]: token });
      await eventually('the visit is answered', () => status(key).lastHandledReconcileAt === token);
      return objects.requests.slice(from);
    },
    /** Asks for a visit. */
    look: (key: ResourceKey) => void objects.annotate(key, { [annotations.reconcileRequestedAt]: `${++asked}` }),
    recorded: (key: ResourceKey, reason: string) =>
      eventually(`${key.name} has told ${reason}`, () => reasons(key).includes(reason)),
    gone: (key: ResourceKey) => eventually(`${key.name} is gone`, () => objects.read(key) === undefined),
    reasons,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

export type WholeOperator = Awaited<ReturnType<typeof givenWholeOperator>>;
