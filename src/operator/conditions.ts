// Conditions: Ready, Reconciling, Stalled and Paused follow from the outcome of a visit; kstatus and people read them.
import type { Condition, Resource } from '../resources/resource.ts';
import type { Outcome } from './reconciler.ts';

export type ConditionValue = Pick<Condition, 'status' | 'reason' | 'message'>;

/** True where the object as it is now was found ready. */
export const isReady = (resource: Resource): boolean =>
  wasReady(resource) && conditionOf(resource, 'Ready')?.observedGeneration === resource.metadata.generation;

/** True also where it has changed since: what it declared then serves on until it is looked at. */
export const wasReady = (resource: Resource): boolean => conditionOf(resource, 'Ready')?.status === 'True';

export const conditionOf = ({ status }: Resource, type: string): Condition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

/** Computed from the outcome; each but Ready is there only while it is True. */
const summaryTypes: ReadonlySet<string> = new Set(['Ready', 'Reconciling', 'Stalled', 'Paused']);

const summaries: Readonly<Record<Outcome['outcome'], (told: Told) => Readonly<Record<string, ConditionValue>>>> = {
  done: ({ message }) => ({ Ready: { status: 'True', reason: 'Succeeded', message } }),
  wait: ({ reason, message, isRetry }) => ({
    Ready: { status: 'False', reason, message },
    Reconciling: { status: 'True', reason: isRetry ? 'ProgressingWithRetry' : 'Progressing', message },
  }),
  stalled: ({ reason, message }) => ({
    Ready: { status: 'False', reason, message },
    Stalled: { status: 'True', reason, message },
  }),
};

type Told = { readonly reason: string; readonly message: string; readonly isRetry: boolean };

type Visited = {
  readonly outcome: Outcome['outcome'];
  readonly told: Told;
  /** The conditions of the kind's own that this visit has set. */
  readonly own: ReadonlyMap<string, ConditionValue>;
  readonly now: Date;
};

/** All conditions after a visit: those of the kind's own that it did not set stay as they were. */
export function conditionsAfter(resource: Resource, { outcome, told, own, now }: Visited): readonly Condition[] {
  const kept = (resource.status?.conditions ?? []).filter(({ type }) => !summaryTypes.has(type) && !own.has(type));
  const set = [...Object.entries(summaries[outcome](told)), ...own].map(([type, value]) =>
    conditionFrom(resource, type, value, now),
  );
  return [...set, ...kept].sort((one, other) => rankOf(one.type) - rankOf(other.type) || compare(one.type, other.type));
}

/** While an object is paused it keeps all that was said of it. */
export function conditionsPaused(resource: Resource, now: Date): readonly Condition[] {
  const message = 'The annotation acmery.io/paused stops all work on this object; what it declared goes on as it was.';
  const paused = conditionFrom(resource, 'Paused', { status: 'True', reason: 'Suspended', message }, now);
  const kept = (resource.status?.conditions ?? []).filter(({ type }) => type !== 'Paused');
  const ready: ConditionValue = { status: 'Unknown', reason: 'Suspended', message };
  const isNew = !kept.some(({ type }) => type === 'Ready');
  return [...(isNew ? [conditionFrom(resource, 'Ready', ready, now)] : []), ...kept, paused];
}

function conditionFrom(resource: Resource, type: string, value: ConditionValue, now: Date): Condition {
  const before = conditionOf(resource, type);
  const lastTransitionTime =
    before?.status === value.status ? before.lastTransitionTime : `${now.toISOString().slice(0, 19)}Z`;
  return { type, ...shortened(value), observedGeneration: resource.metadata.generation, lastTransitionTime };
}

const LONGEST_MESSAGE = 32_768;
const shortened = ({ status, reason, message }: ConditionValue): ConditionValue => ({
  status,
  reason,
  message: message.slice(0, LONGEST_MESSAGE),
});

const rankOf = (type: string): number => (type === 'Ready' ? 0 : 1);
const compare = (one: string, other: string): number => (one < other ? -1 : 1);
