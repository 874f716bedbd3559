// The Directory that an ExternalBinding or an AcmeKey is for.
import type { DirectoryResource } from '../resources/directory-resource.ts';
import type { Reference, Resource, ResourceKey } from '../resources/resource.ts';
import { type OperatorContext, type Outcome, referenced } from './reconciler.ts';
import { rowOf } from './referee-row.ts';
import { referee } from './references.ts';

type Bound = Resource<'ExternalBinding' | 'AcmeKey', { readonly directoryRef: Reference }>;

export const directoryKey = (resource: Bound): ResourceKey =>
  referenced('Directory', resource, resource.spec.directoryRef);

/** The one that is programmed and lets this object in, as far as its status says; else what to wait for. */
export const directoryFor = (operator: OperatorContext, resource: Bound) =>
  referee<DirectoryResource>(operator, resource, 'Directory', resource.spec.directoryRef);

/** The uuid of one that is programmed and lets this object in; else what to wait for. */
export async function boundDirectory(
  operator: OperatorContext,
  resource: Bound,
): Promise<{ readonly id: string; readonly outcome?: undefined } | { readonly outcome: Outcome }> {
  const { found, outcome } = directoryFor(operator, resource);
  return outcome === undefined ? rowOf(operator, found) : { outcome };
}
