// The row of an object that another one names. A status alone proves nothing: in his own namespace a user may write any.
import { CaError } from '../core/errors.ts';
import { parseId } from '../core/ids.ts';
import { isRowOf } from '../core/row-owners.ts';
import type { Resource } from '../resources/resource.ts';
import type { OperatorContext, Outcome } from './reconciler.ts';

type Row = { readonly id: string; readonly outcome?: undefined };
type NoRow = { readonly outcome: Exclude<Outcome, { outcome: 'done' }>; readonly id?: undefined };

const prefixes = { SigningCert: 'scrt', Directory: 'dir' } as const;

/**
 * The uuid that its status shows. Throws `unknown_reference` where that row is not its own: with a new database it is being
 * made again, and what somebody else has written is corrected when that object is looked at.
 */
export async function rowOf(
  { ca }: OperatorContext,
  found: Resource<keyof typeof prefixes, unknown, { readonly observedGeneration: number; readonly id?: string }>,
): Promise<Row | NoRow> {
  const { namespace, name, uid } = found.metadata;
  const title = `${found.kind} ${namespace}/${name}`;
  const id = parseId(prefixes[found.kind], found.status?.id ?? '');
  if (id === undefined) return { outcome: waiting(`${title} has no id yet.`) };
  if (await isRowOf(ca, id, uid)) return { id };
  throw new CaError('unknown_reference', `${title} shows the id of something that is not there, or not its own.`);
}

const waiting = (message: string): NoRow['outcome'] => ({
  outcome: 'wait',
  reason: 'DependencyNotReady',
  message,
});
