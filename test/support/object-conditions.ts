// The conditions of an object of a stand-in for a cluster, as tests read them: `True Succeeded` by their types.
import type { ResourceKey } from '../../src/resources/resource.ts';
import type { DeclaredObjects } from './declared-objects.ts';
import { eventually } from './eventually.ts';

export type Conditions = Readonly<Record<string, string>>;

export const conditionsIn = (objects: DeclaredObjects, key: ResourceKey): Conditions =>
  Object.fromEntries(
    (objects.read(key)?.status?.conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]),
  );

/** Until they say what is expected; others may be there. */
export const untilConditions = (objects: DeclaredObjects, key: ResourceKey, expected: Conditions): Promise<void> =>
  eventually(`the conditions say ${JSON.stringify(expected)}`, () => {
    const conditions = conditionsIn(objects, key);
    return Object.entries(expected).every(([type, value]) => conditions[type] === value);
  });
