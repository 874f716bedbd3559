// The Directory that an ExternalBinding or an AcmeKey is for.
import { parseId } from '../core/ids.ts';
import type { DirectoryResource } from '../resources/directory-resource.ts';
import type { Reference, Resource, ResourceKey } from '../resources/resource.ts';
import { type OperatorContext, type Outcome, referenced } from './reconciler.ts';
import { referee } from './references.ts';

type Bound = Resource<'ExternalBinding' | 'AcmeKey', { readonly directoryRef: Reference }>;

export const directoryKey = (resource: Bound): ResourceKey =>
  referenced('Directory', resource, resource.spec.directoryRef);

/** The uuid of one that is programmed and lets this object in; else what to wait for. */
export function boundDirectory(
  operator: OperatorContext,
  resource: Bound,
): { readonly id: string; readonly outcome?: undefined } | { readonly outcome: Outcome } {
  const { found, outcome } = referee<DirectoryResource>(operator, resource, 'Directory', resource.spec.directoryRef);
  if (outcome !== undefined) return { outcome };
  const id = parseId('dir', found.status?.id ?? '');
  return id === undefined ? { outcome: waiting(found) } : { id };
}

const waiting = ({ metadata: { namespace, name } }: Resource): Outcome => ({
  outcome: 'wait',
  reason: 'DependencyNotReady',
  message: `Directory ${namespace}/${name} has no id yet.`,
});
