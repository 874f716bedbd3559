// Who still needs an object that is to go.
import { keyOf, type Resource, type ResourceKey } from '../resources/resource.ts';
import type { ResourceSource } from './ports.ts';
import { done, type Step } from './reconciler.ts';

const NAMED = 5;

/**
 * Holds an object that is deleted with what it declares while others refer to it. Those that are going themselves, or
 * whose namespace is, do not count, or a namespace could never be deleted; nor do those elsewhere that never got in.
 */
export const dependentsGone: Step<
  Resource<Resource['kind'], { readonly deletionPolicy: 'Retain' | 'Delete' }>
> = async ({ source, referrers }, { resource }) => {
  if (resource.spec.deletionPolicy === 'Retain') return done;
  const users = referrers.to(keyOf(resource)).filter((key) => needs(source, key, resource.metadata.namespace));
  if (users.length === 0) return done;
  const all = users.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`).sort();
  const named = all.slice(0, NAMED);
  const more = users.length > NAMED ? ` and ${users.length - NAMED} more` : '';
  return {
    outcome: 'wait',
    reason: 'DeletionBlocked',
    message: `It is still referred to by ${named.join(', ')}${more}; delete these first, or let them refer to another one.`,
  };
};

function needs(source: ResourceSource, key: ResourceKey, namespace: string): boolean {
  const user = source.get(key) as
    | Resource<typeof key.kind, unknown, { readonly observedGeneration: number; readonly id?: string }>
    | undefined;
  if (user === undefined || user.metadata.deletionTimestamp !== undefined) return false;
  if (source.namespace(key.namespace)?.isTerminating === true) return false;
  return key.namespace === namespace || user.status?.id !== undefined;
}
