// The operator at work on objects of a stand-in for a cluster, with a real database behind it.
import type { Ca } from '../../src/core/ca.ts';
import type { SingleDirectoryView } from '../../src/core/directories.ts';
import { formatId } from '../../src/core/ids.ts';
import { ClaimIndex } from '../../src/operator/claims.ts';
import { Controller } from '../../src/operator/controller.ts';
import type { OperatorContext, Reconciler } from '../../src/operator/reconciler.ts';
import { relationsOf } from '../../src/operator/reconcilers.ts';
import { ReferrerIndex } from '../../src/operator/references.ts';
import { annotations } from '../../src/resources/annotations.ts';
import type { Condition, Resource, ResourceKey } from '../../src/resources/resource.ts';
import { testCa } from './ca.ts';
import { type DeclaredObjects, declaredObjects } from './declared-objects.ts';
import { eventually } from './eventually.ts';
import { givenDirectory } from './given-directory.ts';
import { type Conditions, conditionsIn, untilConditions } from './object-conditions.ts';

export const ANCHOR = '-----BEGIN CERTIFICATE-----\nan anchor\n-----END CERTIFICATE-----\n';

/** A Directory object that its own reconciler has made ready, before a directory of the database. */
export async function givenDirectoryObject(
  ca: Ca,
  objects: DeclaredObjects,
  { name = 'web', from = 'All' }: { readonly name?: string; readonly from?: 'All' | 'Same' } = {},
): Promise<SingleDirectoryView> {
  const directory = await givenDirectory(ca);
  const key: ResourceKey = { kind: 'Directory', namespace: 'acmery-system', name };
  const { metadata } = objects.apply({ ...key, spec: { allowedNamespaces: { from } } });
  const { namespace: origin_namespace, name: origin_name, uid: origin_uid } = metadata;
  const origin = { origin: 'kubernetes', origin_namespace, origin_name, origin_uid, origin_generation: 1 } as const;
  await ca.database.db.updateTable('directories').set(origin).where('id', '=', directory.id).execute();
  setReady(ca, objects, key, metadata.generation, { id: formatId('dir', directory.id) });
  return directory;
}

/** Shows an object as its reconciler leaves a ready one. */
function setReady(ca: Ca, objects: DeclaredObjects, key: ResourceKey, generation: number, status: object): void {
  const ready: Condition = {
    type: 'Ready',
    status: 'True',
    reason: 'Succeeded',
    message: '',
    observedGeneration: generation,
    lastTransitionTime: ca.clock.now().toISOString(),
  };
  objects.setStatus(key, { ...status, observedGeneration: generation, conditions: [ready] });
}

/** A controller of this kind, to which all changes are told until it is disposed of. */
export async function givenOperator<R extends Resource>(reconciler: Reconciler<R>) {
  await using scope = new AsyncDisposableStack();
  const { ca, metrics } = scope.use(await testCa());
  const objects = declaredObjects(ca.clock);
  const { source, outputs, events } = objects;
  const claimants = new ClaimIndex((resource) => relationsOf(resource.kind).claims?.(resource) ?? []);
  const operator: OperatorContext = {
    ca,
    source,
    outputs,
    events,
    referrers: new ReferrerIndex(() => []),
    claimants,
    namespace: 'acmery-system',
    caNamespaces: ['acmery-system'],
    anchors: () => ANCHOR,
  };
  const start = () => {
    const controller = new Controller(operator, reconciler, { random: () => 0.5 });
    const stopping = new AbortController();
    const running = controller.run(stopping.signal);
    const stop = async () => {
      stopping.abort();
      await running;
    };
    return { controller, stop };
  };
  let current = start();
  scope.defer(() => current.stop());
  source.follow({
    changed: ({ key, before, after }) => {
      claimants.change(before, after);
      const isAsked = key.kind === reconciler.kind && askedOf(before) !== askedOf(after);
      if (isAsked) current.controller.enqueue(key, 'high', (after ?? before)?.metadata.uid);
    },
    namespaceChanged: () => undefined,
  });
  const directory = await givenDirectoryObject(ca, objects);
  let asked = 0;

  const status = (key: ResourceKey): Readonly<Record<string, unknown>> => ({ ...objects.read(key)?.status });
  const conditions = (key: ResourceKey): Conditions => conditionsIn(objects, key);
  const message = (key: ResourceKey, type: string): string =>
    objects.read(key)?.status?.conditions?.find((one) => one.type === type)?.message ?? '';
  const told = (key: ResourceKey, expected: Conditions): Promise<void> => untilConditions(objects, key, expected);
  /** Asks for a thorough visit and waits for its end; what was requested meanwhile. */
  const visited = async (key: ResourceKey): Promise<readonly string[]> => {
    await objects.caughtUp();
    const token = `${++asked}`;
    const from = objects.requests.length;
    objects.annotate(key, { [annotations.reconcileRequestedAt]: token });
    await eventually('the visit is answered', () => status(key).lastHandledReconcileAt === token);
    return objects.requests.slice(from);
  };
  const opened = scope.move();
  return {
    ca,
    objects,
    operator,
    directory,
    status,
    conditions,
    message,
    told,
    visited,
    metrics,
    reasons: () => objects.recorded.map(({ reason }) => reason),
    /** As after a restart: what the status says of Secrets is believed. */
    restart: async (keys: readonly ResourceKey[]) => {
      await current.stop();
      current = start();
      for (const key of keys) current.controller.enqueue(key, 'glance');
    },
    gone: (key: ResourceKey) => eventually(`${key.name} is gone`, () => objects.read(key) === undefined),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** What somebody else wants of an object: not what the operator writes. */
const askedOf = (resource: Resource | undefined): string | undefined => {
  if (resource === undefined) return undefined;
  const { uid, generation, deletionTimestamp, annotations: texts } = resource.metadata;
  return JSON.stringify({ uid, generation, deletionTimestamp, texts });
};
