// The conditions of a kind on the first visit, before anything is known.
import type { Resource } from '../resources/resource.ts';
import { conditionOf } from './conditions.ts';
import { done, type Step } from './reconciler.ts';

/** Shows what is not known yet. */
export const unknownAtFirst =
  <R extends Resource>(...types: readonly string[]): Step<R> =>
  async (_, visit) => {
    const value = { status: 'Unknown', reason: 'Progressing', message: 'Not looked at yet; see Ready.' } as const;
    for (const type of types) {
      if (conditionOf(visit.resource, type) === undefined) visit.condition(type, value);
    }
    return done;
  };
