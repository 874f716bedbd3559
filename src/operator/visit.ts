// One visit in the making: what the steps have set so far, on top of what the status said before.
import type { Declared } from '../core/declared.ts';
import { annotationOf } from '../resources/annotations.ts';
import type { CommonStatus, Resource } from '../resources/resource.ts';
import type { ConditionValue } from './conditions.ts';
import type { StatusOf, Visit } from './reconciler.ts';
import type { Untold } from './untold.ts';

export type VisitInMaking<R extends Resource> = Visit<R> & {
  readonly own: ReadonlyMap<string, ConditionValue>;
  /** The earliest that a step has asked for. */
  readonly nextVisit: () => Date | undefined;
};

export type VisitOptions = {
  readonly signal: AbortSignal;
  readonly isThorough: boolean;
  readonly untold: Pick<Untold, 'happened'>;
};

export function beginVisit<R extends Resource>(
  resource: R,
  { signal, isThorough, untold }: VisitOptions,
): VisitInMaking<R> {
  const own = new Map<string, ConditionValue>();
  let next: Date | undefined;
  return {
    resource,
    declared: declaredOf(resource),
    signal,
    isThorough,
    status: fieldsOf(resource),
    own,
    nextVisit: () => next,
    condition: (type, value) => void own.set(type, value),
    event: (event) => untold.happened(event),
    comeBackAt(time) {
      if (next === undefined || time < next) next = time;
    },
  };
}

function declaredOf(resource: Resource): Declared {
  const { namespace, name, uid, generation } = resource.metadata;
  const adopt = annotationOf(resource, 'adopt');
  return { namespace, name, uid, generation, ...(adopt !== undefined && { adopt }) };
}

/** The status but for what all kinds have. */
function fieldsOf<R extends Resource>(resource: R): Visit<R>['status'] {
  const status: Readonly<Record<string, unknown>> = resource.status ?? {};
  const common: readonly (keyof CommonStatus)[] = ['observedGeneration', 'conditions', 'lastHandledReconcileAt'];
  const fields = Object.entries(status).filter(([name]) => !common.some((field) => field === name));
  return Object.fromEntries(fields) as Partial<StatusOf<R>> as Visit<R>['status'];
}
